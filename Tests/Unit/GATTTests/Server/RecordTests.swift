import TestSupport
import AttoATT
import AttoGATT
import Testing

/// What a server remembers of a client, against databases that have changed since.
@Suite(.sideBySide) struct RecordTests {
  private func database(_ services: ServiceDefinition...) -> Database {
    var database = Database()
    for service in services { try! database.add(service) }
    return database
  }

  private let heart = service(0x180D, at: 0x10, value(0x2A37, .stored([1]), .readOnly, [.notify]))
  private let battery = service(
    0x180F, at: 0x20, value(0x2A19, .stored([1]), .readOnly, [.read, .notify]))

  /// The record of a client that has subscribed to both.
  private var record: ClientRecord {
    let station = TestSession(Server(database(heart, battery)))
    #expect(station.send("12 1300 0100") == ["13"])
    #expect(station.send("12 2300 0100") == ["13"])
    return station.server.record(of: station.client)
  }

  private func restored(_ database: Database) -> Set<AttributeHandle> {
    let station = TestSession(Server(database), record: record)
    return Set(station.server.record(of: station.client).configurations.keys)
  }

  @Test func allOfTheSameDatabase() {
    #expect(restored(database(heart, battery)) == [0x13, 0x23])
  }

  @Test func whatIsWhereItWas() {
    #expect(restored(database(heart)) == [0x13])
    #expect(restored(database(heart, battery, service(0x1810, at: 0x40))) == [0x13, 0x23])
  }

  /// The handle is a Client Characteristic Configuration again, of something else.
  @Test func notWhatIsSomethingElseByNow() {
    let other = service(0x1810, at: 0x10, value(0x2A35, .stored([1]), .readOnly, [.notify]))
    #expect(restored(database(other, battery)) == [0x23])
    let changed = service(
      0x180D, at: 0x10, value(0x2A37, .stored([1]), .readWrite, [.notify, .write]))
    #expect(restored(database(changed, battery)) == [0x23])
    let grown = service(
      0x180D, at: 0x10, value(0x2A37, .stored([1]), .readOnly, [.notify]),
      value(0x2A38, .stored([1]), .readOnly, [.read]))
    #expect(restored(database(grown, battery)) == [0x23])
  }

  /// A record from before there were hashes of services, or of a client that was not aware.
  @Test func withoutTheHashOfItsService() {
    var old = record
    old.serviceHashes = [:]
    #expect(Server(database(heart)).connect(record: old)?.features == [])
    let station = TestSession(Server(database(heart)), record: old)
    #expect(station.server.record(of: station.client).configurations.isEmpty)
    old.databaseHash = []
    let other = TestSession(Server(database(heart, battery)), record: old)
    #expect(other.server.record(of: other.client).configurations.isEmpty)
  }

  @Test func whatMayHaveChangedShows() throws {
    let station = TestSession(Server(database(heart, battery)))
    let client = station.client
    var before = client.recordRevision
    func hasChanged() -> Bool {
      defer { before = client.recordRevision }
      return client.recordRevision != before
    }
    station.send("12 1300 0100")
    #expect(hasChanged())
    station.send("12 1300 0100")
    station.send("0a 1300")
    #expect(!hasChanged())
    try station.server.add(service(0x1810, at: 0x40))
    #expect(hasChanged())
    client.security = LinkSecurity(.medium)
    #expect(hasChanged())
    try station.server.remove(service: 0x10)
    #expect(hasChanged())
  }

  @Test func theHashOfAService() {
    let both = database(heart, battery)
    #expect(both.serviceHash(containing: 0x13) == database(heart).serviceHash(containing: 0x10))
    #expect(both.serviceHash(containing: 0x13) != both.serviceHash(containing: 0x23))
    #expect(both.serviceHash(containing: 0x13)?.count == 16)
    #expect(both.serviceHash(containing: 0x1F) == nil)
    #expect(both.serviceHash(containing: 1) == nil)
  }

  /// An application that cannot keep a counter stops the write.
  @Test func aCounterThatIsNotKept() {
    final class Refusing: Application {
      override func accepts(signCounter: UInt32, of client: ClientID) -> Bool { signCounter > 3 }
    }
    let signed = service(
      0x1812, at: 0x10, value(0x2A4D, .stored([0]), .readWrite, [.authenticatedSignedWrites]))
    let station = TestSession(Server(database(signed), application: Refusing()))
    let key = [UInt8](0..<16)
    station.client.setSigningKey(key, counter: 0)
    for (counter, result) in [(3, 0), (4, 1), (4, 1)] as [(UInt32, UInt8)] {
      let head: [UInt8] = [0xD2, 0x12, 0, 1]
      station.send(head + Signature.compute(over: head.span.bytes, counter: counter, key: key))
      #expect(station.server.database.value(of: 0x12) == [result])
    }
  }
}
