import TestSupport
import AttoATT
import AttoGATT
import Testing

/// The first stage of discovery, which validates the cached database.
@Suite(.sideBySide) struct DatabaseHashTests {
  static let hash = [UInt8](0...15)
  static let text = "00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f"
  let cached = RemoteDatabase(
    services: [Service(handle: 1, endGroupHandle: 9, uuid: .genericAccess)],
    databaseHash: Self.hash)

  /// What a server without services answers.
  static let discovery = """

    > 10 0100 ffff 0028
    < 01 10 0100 0a
    > 10 0100 ffff 0128
    < 01 10 0100 0a
    """

  @Test func sameHash() throws {
    let database = try play(
      DiscoverDatabase(cached: cached), "> 08 0100 ffff 2a2b\n< 09 12 0300 \(Self.text)")
    #expect(database == cached)
  }

  /// Some servers send it in reverse.
  @Test func sameHashInReverse() throws {
    let reversed = hexText(Self.hash.reversed())
    let database = try play(
      DiscoverDatabase(cached: cached), "> 08 0100 ffff 2a2b\n< 09 12 0300 \(reversed)")
    #expect(database == cached)
  }

  @Test func otherHash() throws {
    let other = [UInt8](repeating: 7, count: 16)
    let database = try play(
      DiscoverDatabase(cached: cached),
      "> 08 0100 ffff 2a2b\n< 09 12 0300 \(hexText(other))" + Self.discovery)
    #expect(database == RemoteDatabase(services: [], databaseHash: other))
  }

  /// A server without a readable hash is discovered.
  @Test func everyErrorIsNoHash() throws {
    for code in UInt8.min...UInt8.max {
      let database = try play(
        DiscoverDatabase(cached: cached),
        "> 08 0100 ffff 2a2b\n< 01 08 0100 \(hexText([code]))" + Self.discovery)
      #expect(database == RemoteDatabase(services: []))
    }
  }

  @Test(arguments: [
    "09 02 0300", "09 11 0300 000102030405060708090a0b0c0d0e",
    "09 13 0300 000102030405060708090a0b0c0d0e0f10",
  ])
  func valueThatIsNoHash(response: String) throws {
    let database = try play(
      DiscoverDatabase(cached: cached), "> 08 0100 ffff 2a2b\n< \(response)" + Self.discovery)
    #expect(database == RemoteDatabase(services: []))
  }

  @Test func hashForTheFirstTime() throws {
    let database = try play(
      DiscoverDatabase(readsDatabaseHash: true),
      "> 08 0100 ffff 2a2b\n< 09 12 0300 \(Self.text)" + Self.discovery)
    #expect(database == RemoteDatabase(services: [], databaseHash: Self.hash))
  }

  @Test func cachedWithoutHash() throws {
    let database = try play(
      DiscoverDatabase(cached: RemoteDatabase(services: cached.services)),
      Self.discovery)
    #expect(database == RemoteDatabase(services: []))
  }

  @Test func lies() {
    #expect(throws: ProcedureError.violation(.handleOutOfRange(0, .all))) {
      try play(
        DiscoverDatabase(cached: cached), "> 08 0100 ffff 2a2b\n< 09 12 0000 \(Self.text)")
    }
  }
}
