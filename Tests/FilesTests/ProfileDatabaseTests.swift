import ATT
import GATT
import Testing

@testable import Files

/// A profile's database holds what its layout says, handle by handle.
@Suite struct ProfileDatabaseTests {
  @Test(arguments: Fixtures.profiles) func holdsTheLayout(_ name: String) throws {
    let built = try Profile(contentsOfFile: Fixtures.path(name)).database()
    let automatic = built.layout.automaticServices.services
    let automaticCount = automatic.reduce(0) {
      $0 + Int($1.range.end.rawValue) - Int($1.range.start.rawValue) + 1
    }
    #expect(built.database.count == built.layout.attributes.count + automaticCount)
    for attribute in built.layout.attributes {
      #expect(built.database.type(of: attribute.handle) == attribute.type)
      let value = built.database.value(of: attribute.handle)
      switch attribute.content {
      case .service(let service): #expect(value == service.uuid.octets)
      case .include(let service):
        let uuid = service.uuid.octets
        let expected =
          littleEndian(service.range.start) + littleEndian(service.range.end)
          + (uuid.count == 2 ? uuid : [])
        #expect(value == expected)
      case .characteristic(let properties, let valueHandle, let uuid):
        #expect(value == [properties.rawValue] + littleEndian(valueHandle) + uuid.octets)
      case .value(let storage, _, _):
        let isApplication =
          built.behaviours.contains { $0.handle == attribute.handle && $0.isApplication }
        #expect(value == (isApplication ? nil : storage.bytes))
      case .descriptor(let storage): #expect(value == storage.bytes)
      case .clientConfiguration: #expect(value == nil)
      }
    }
    for service in built.layout.services {
      #expect(built.database.service(containing: service.range.end) == service.range.start)
    }
  }

  @Test func addsTheServicesThatEveryServerHas() throws {
    let profile = try Profile(
      json: Array(
        #"{"name": "Name", "advertising": {"appearance": "0x0341"}, "services": []}"#.utf8))
    let built = try profile.database()
    #expect(built.database.count == 15)
    #expect(built.database.value(of: 0x0003) == Array("Name".utf8))
    #expect(built.database.value(of: 0x0005) == [0x41, 0x03])
    #expect(built.database.handles(of: .serviceChanged) == [0x0008])
    #expect(built.database.configuration(ofValue: 0x0008) == 0x0009)
    #expect(built.database.handles(of: .clientSupportedFeatures) == [0x000B])
    #expect(built.database.handles(of: .databaseHash) == [0x000D])
    #expect(built.database.value(of: 0x000F) == [0])
  }

  @Test func leavesToTheApplicationWhatABehaviourNeeds() throws {
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
    let built = try profile.database()
    #expect(built.behaviours.map(\.handle) == [0x0003, 0x0005, 0x0008])
    #expect(built.behaviours.map(\.isApplication) == [true, false, true])
    #expect(built.behaviours.map(\.echo) == [nil, nil, 0x0005])
    #expect(built.behaviours[2].limits == ValueLimits(maximumLength: 7))
  }

  /// A word for each condition, judged by the server as the layout says.
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
    let server = Server(try profile.database().database)
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
