import AttoATT
import AttoGATT
import TestSupport
import Testing

@testable import AttoFormats

/// Profiles made from discovered databases. Tests/System/Commands/cloning.py clones servers.
@Suite(.sideBySide) struct ProfileCloneTests {
  private func profile(
    _ characteristic: Characteristic, _ readings: [AttributeHandle: ProfileClone.Reading]
  ) throws -> Profile {
    let service = Service(
      handle: 1, endGroupHandle: 9, uuid: 0x180F, characteristics: [characteristic])
    let clone = ProfileClone(RemoteDatabase(services: [service]), readings: readings)
    return try Profile(json: Array(clone.json(comment: "\"\u{1B}\n\u{1F600}\\").utf8))
  }

  /// Every error, for a value that is also writable: the clone's server answers with it.
  @Test func refusals() throws {
    for code in (UInt8.min...UInt8.max).map({ ErrorCode($0) }) {
      let characteristic = Characteristic(
        declarationHandle: 2, valueHandle: 4, endGroupHandle: 9, properties: [.read, .write],
        uuid: 0x2A19, descriptors: [Descriptor(handle: 7, uuid: 0x2901)])
      let profile = try profile(characteristic, [4: .refused(code), 7: .refused(code)])
      let made = profile.services[0].characteristics[0]
      #expect(made.definition.permissions.write == .open)
      switch made.definition.permissions.read {
      // 0x00 is no error code: a server cannot answer with it.
      case .denied: #expect(code == .readNotPermitted || code.rawValue == 0)
      case .requires(let requirement) where requirement.authorization:
        #expect(code == .insufficientAuthorization)
      case .requires(let requirement) where requirement.keySize > 0:
        #expect(code == .encryptionKeySizeTooShort)
      case .requires(let requirement):
        let refusal = requirement.refusal(of: LinkSecurity(.low))
        #expect((made.behaviour?.readError ?? refusal) == code)
      }
    }
  }

  @Test func valuesOfAllKinds() throws {
    let text = [UInt8](repeating: 0x7E, count: 512)
    for value: [UInt8] in [[], [0x41], [0x41, 0x22, 0x5C], [0, 255], text] {
      let characteristic = Characteristic(
        declarationHandle: 2, valueHandle: 3, endGroupHandle: 9, properties: [.read, .notify],
        uuid: 0x2A19)
      let made = try profile(characteristic, [3: .value(value)]).services[0].characteristics[0]
      #expect(made.definition.value == .stored(value))
      #expect(made.addedDescriptors.isEmpty)
    }
  }

  /// A peer may send a hash that is not the one of its database.
  @Test func hashes() throws {
    let characteristic = Characteristic(
      declarationHandle: 2, valueHandle: 3, endGroupHandle: 9, properties: .read,
      uuid: .databaseHash)
    let service = Service(
      handle: 1, endGroupHandle: 9, uuid: .genericAttribute, characteristics: [characteristic])
    func value(_ hash: [UInt8]) throws -> ValueDefinition {
      let clone = ProfileClone(RemoteDatabase(services: [service]), readings: [3: .value(hash)])
      let profile = try Profile(json: Array(clone.json(comment: "").utf8))
      return try profile.layout().services[0].characteristics[0].value
    }
    let wrong = [UInt8](repeating: 7, count: 16)
    #expect(try value(wrong) == .stored(wrong))
    let clone = ProfileClone(RemoteDatabase(services: [service]), readings: [:])
    var database = try Profile(json: Array(clone.json(comment: "").utf8)).database()
    #expect(try value(database.hash()) == .databaseHash)
  }
}
