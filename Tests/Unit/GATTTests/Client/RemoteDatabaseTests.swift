import AttoATT
import AttoGATT
import TestSupport
import Testing

@Suite(.sideBySide) struct RemoteDatabaseTests {
  let database = RemoteDatabase(services: [
    Service(
      handle: 0x0020, endGroupHandle: 0x002F, uuid: 0x180D,
      includes: [
        IncludedService(handle: 0x21, startHandle: 0x01, endGroupHandle: 0x05, uuid: 0x1800),
        IncludedService(handle: 0x22, startHandle: 0x02, endGroupHandle: 0x05, uuid: 0x1800),
      ],
      characteristics: [
        Characteristic(
          declarationHandle: 0x23, valueHandle: 0x24, endGroupHandle: 0x26, properties: .notify,
          uuid: 0x2A37,
          descriptors: [
            Descriptor(handle: 0x25, uuid: .characteristicUserDescription),
            Descriptor(handle: 0x26, uuid: .clientCharacteristicConfiguration),
          ]),
        Characteristic(
          declarationHandle: 0x28, valueHandle: 0x29, endGroupHandle: 0x2F, properties: .read,
          uuid: 0x2A00),
      ]),
    Service(
      handle: 0x0001, endGroupHandle: 0x0005, uuid: 0x1800,
      characteristics: [
        Characteristic(
          declarationHandle: 2, valueHandle: 3, endGroupHandle: 5, properties: .read, uuid: 0x2A00)
      ]),
    Service(handle: 0xFFFF, endGroupHandle: 0xFFFF, uuid: 0x1800, isPrimary: false),
  ])

  @Test func sortsServices() {
    #expect(database.services.map(\.handle) == [0x0001, 0x0020, 0xFFFF])
  }

  @Test func findsServices() {
    #expect(database.service(at: 0x0020)?.uuid == 0x180D)
    #expect(database.service(at: 0x0021) == nil)
    #expect(database.service(at: 0x0000) == nil)
    #expect(database.service(containing: 0x0001)?.handle == 0x0001)
    #expect(database.service(containing: 0x0005)?.handle == 0x0001)
    #expect(database.service(containing: 0x0006) == nil)
    #expect(database.service(containing: 0x002F)?.handle == 0x0020)
    #expect(database.service(containing: 0xFFFF)?.isPrimary == false)
    #expect(database.services(0x1800).map(\.handle) == [0x0001, 0xFFFF])
    #expect(database.services(0x1801).isEmpty)
    #expect(database.service(0x1800)?.handle == 0x0001)
    #expect(database.service(0x1801) == nil)
    let includes = database.services[1].includes
    #expect(database.service(includedAs: includes[0])?.handle == 0x0001)
    #expect(database.service(includedAs: includes[1]) == nil)
  }

  @Test func findsCharacteristics() {
    #expect(database.characteristics(.deviceName).map(\.declarationHandle) == [0x0002, 0x0028])
    #expect(database.characteristics(0x2AFF).isEmpty)
    #expect(database.characteristic(.deviceName)?.declarationHandle == 0x0002)
    #expect(database.characteristic(0x2A37)?.valueHandle == 0x0024)
    #expect(database.characteristic(0x2AFF) == nil)
    #expect(database.service(0x180D)?.characteristic(.deviceName)?.valueHandle == 0x0029)
    #expect(database.service(0x180D)?.characteristic(0x2AFF) == nil)
    #expect(database.characteristic(valueHandle: 0x0024)?.uuid == 0x2A37)
    #expect(database.characteristic(valueHandle: 0x0023) == nil)
    #expect(database.characteristic(valueHandle: 0x0010) == nil)
    #expect(database.characteristic(containing: 0x0022) == nil)
    #expect(database.characteristic(containing: 0x0026)?.declarationHandle == 0x0023)
    #expect(database.characteristic(containing: 0x0027) == nil)
    #expect(database.characteristic(containing: 0x002F)?.declarationHandle == 0x0028)
    #expect(database.characteristic(containing: 0xFFFF) == nil)
  }

  @Test func findsDescriptors() {
    #expect(database.characteristics(0x2A37).first?.cccd?.handle == 0x0026)
    #expect(database.characteristics(0x2A00).first?.cccd == nil)
    #expect(database.descriptor(at: 0x0025)?.uuid == .characteristicUserDescription)
    #expect(database.descriptor(at: 0x0024) == nil)
    #expect(database.descriptor(at: 0x0030) == nil)
  }

  /// Against a search from one end to the other, over whole random databases.
  @Test func agreesWithALinearSearch() {
    for seed in UInt64(1)...20 {
      var random = SplitMix64(seed: seed)
      let database = RemoteDatabase.random(using: &random)
      for raw in (0...0x400).map({ UInt16($0) }) + [0xFFFE, 0xFFFF] {
        let handle = AttributeHandle(raw)
        let service = database.services.first { $0.contains(handle) }
        #expect(database.service(containing: handle) == service, "seed \(seed)")
        let characteristic = service?.characteristics.first {
          $0.declarationHandle <= handle && handle <= $0.endGroupHandle
        }
        #expect(database.characteristic(containing: handle) == characteristic, "seed \(seed)")
      }
    }
  }

  @Test func hash() {
    let hash = [UInt8](1...16)
    let hashed = RemoteDatabase(services: [], databaseHash: hash)
    #expect(hashed.matches(databaseHash: hash))
    #expect(hashed.matches(databaseHash: hash.reversed()))
    #expect(!hashed.matches(databaseHash: [UInt8](2...17)))
    #expect(!hashed.matches(databaseHash: []))
    #expect(!database.matches(databaseHash: hash))
  }
}
