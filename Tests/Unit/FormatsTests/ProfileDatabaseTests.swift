import TestSupport
import AttoATT
import AttoGATT
import Testing

@testable import AttoFormats

/// The database of a profile.
@Suite(.sideBySide) struct ProfileDatabaseTests {
  @Test(arguments: Fixtures.profiles) func holdsTheLayout(_ name: String) throws {
    let layout = try Profile(contentsOfFile: Fixtures.path(name)).layout()
    let database = try layout.database()
    let automaticCount = layout.automaticServices.reduce(0) {
      $0 + Int($1.range.end.rawValue) - Int($1.range.start.rawValue) + 1
    }
    #expect(database.count == layout.attributes.count + automaticCount)
    for attribute in layout.attributes {
      #expect(database.type(of: attribute.handle) == attribute.type)
    }
    for service in layout.services {
      #expect(database.service(containing: service.range.end) == service.range.start)
      #expect(database.value(of: service.range.start) == service.uuid.octets)
      for include in service.includes {
        let target = try #require(include.target)
        let uuid = target.uuid.octets
        let expected =
          littleEndian(include.service) + littleEndian(target.endHandle)
          + (uuid.count == 2 ? uuid : [])
        #expect(database.value(of: include.handle!) == expected)
      }
      for characteristic in service.characteristics {
        check(characteristic, in: database)
      }
    }
  }

  private func check(_ characteristic: CharacteristicDefinition, in database: Database) {
    let valueHandle = characteristic.valueHandle!
    #expect(
      database.value(of: characteristic.handle!)
        == [characteristic.properties.rawValue] + littleEndian(valueHandle)
        + characteristic.uuid.octets)
    #expect(database.value(of: valueHandle) == octets(characteristic.value))
    for descriptor in characteristic.descriptors {
      let isConfiguration = descriptor.uuid == .clientCharacteristicConfiguration
      #expect(
        database.value(of: descriptor.handle!) == (isConfiguration ? nil : octets(descriptor.value))
      )
    }
  }

  private func octets(_ value: ValueDefinition) -> [UInt8]? {
    switch value {
    case .constant(let octets), .stored(let octets, _): octets
    case .application, .clientSupportedFeatures, .databaseHash: nil
    }
  }

  @Test func addsAutomaticServices() throws {
    let profile = try Profile(
      json: Array(
        #"{"name": "Name", "advertising": {"appearance": "0x0341"}, "services": []}"#.utf8))
    let database = try profile.database()
    #expect(database.count == 15)
    #expect(database.value(of: 0x0003) == Array("Name".utf8))
    #expect(database.value(of: 0x0005) == [0x41, 0x03])
    #expect(database.handles(of: .serviceChanged) == [0x0008])
    #expect(database.configuration(ofValue: 0x0008) == 0x0009)
    #expect(database.handles(of: .clientSupportedFeatures) == [0x000B])
    #expect(database.handles(of: .databaseHash) == [0x000D])
    #expect(database.value(of: 0x000F) == [0])
  }

  @Test func leavesValuesWithBehavioursToTheApplication() throws {
    let profile = try Profile(
      json: Array(
        #"""
        {"automatic": false, "services": [{"uuid": "A000", "characteristics": [
          {"uuid": "A001", "properties": ["read"], "behaviour": {"readError": "0x80"}},
          {"uuid": "A002", "properties": ["notify"], "behaviour": {"notifyEveryMilliseconds": 5}},
          {"uuid": "A003", "properties": ["write"], "maxLength": 7,
           "behaviour": {"echoTo": "A002"}},
          {"uuid": "A004", "properties": ["read"]}]}]}
        """#.utf8))
    let behaviours = try profile.layout().behaviours
    #expect(behaviours.map(\.handle) == [0x0003, 0x0005, 0x0008])
    #expect(behaviours.map(\.behaviour.needsApplication) == [true, false, true])
    #expect(behaviours.map(\.echo) == [nil, nil, 0x0005])
    #expect(behaviours[2].limits == ValueLimits(maximumLength: 7))
  }

  /// Each condition in the profile is one that the server checks.
  @Test func turnsPermissionsIntoConditions() throws {
    let profile = try Profile(
      json: Array(
        #"""
        {"automatic": false, "services": [{"uuid": "A000", "characteristics": [
          {"uuid": "A001", "permissions": ["readEncrypted", "write"], "keySize": 10},
          {"uuid": "A002", "permissions": ["readAuthenticated", "readAuthorized"]},
          {"uuid": "A003", "permissions": ["readSecure"]},
          {"uuid": "A004", "permissions": []}]}]}
        """#.utf8))
    let server = Server(try profile.database())
    let client = try #require(server.connect())
    func read(_ handle: UInt8, _ link: LinkSecurity) -> [UInt8] {
      client.security = link
      let session = Session(server: server, client: client)
      _ = session.receive(([0x0A, handle, 0] as [UInt8]).span.bytes, at: .zero)
      var octets: [UInt8] = []
      session.bearer.outbox.removeFirst(into: &octets)
      return octets
    }
    #expect(read(3, .low).last == 0x0F)
    #expect(read(3, LinkSecurity(level: .medium, keySize: 9)).last == 0x0C)
    #expect(read(3, LinkSecurity(level: .medium, keySize: 10)) == [0x0B])
    #expect(read(5, LinkSecurity(.medium)).last == 0x05)
    #expect(read(5, LinkSecurity(.high)).last == 0x08)
    #expect(read(7, LinkSecurity(.high)).last == 0x05)
    #expect(read(7, LinkSecurity(.fips)) == [0x0B])
    #expect(read(9, LinkSecurity(.fips)).last == 0x02)
  }

  private func littleEndian(_ handle: AttributeHandle) -> [UInt8] {
    [UInt8(handle.rawValue & 0xFF), UInt8(handle.rawValue >> 8)]
  }
}
