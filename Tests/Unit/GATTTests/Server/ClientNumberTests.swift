import TestSupport
import AttoATT
import Testing

@testable import AttoGATT

/// Client identifiers after an overflow.
@Suite(.sideBySide) struct ClientNumberTests {
  @Test func aClientThatStaysKeepsItsNumberForItself() throws {
    let server = Server(Database(), application: Application())
    server.nextClient = .max - 1
    let ids = (0..<3).compactMap { _ in server.connect()?.id.rawValue }
    #expect(ids == [.max - 1, .max, 0])
    // After the overflow, the numbers of connected clients are skipped.
    server.nextClient = .max - 2
    let others = (0..<3).compactMap { _ in server.connect()?.id.rawValue }
    #expect(others == [.max - 2, 1, 2])
    #expect(Set(ids + others).count == 6)
  }

  /// Clients come and go in any order, around the overflow: each is found, and the order is that of
  /// their numbers from the first one on.
  @Test func clientsAreFoundByTheirNumbers() throws {
    var random = SplitMix64(seed: 35)
    let server = Server(Database(), application: Application())
    server.nextClient = .max - 100
    var held: [ServerClient] = []
    for _ in 0..<2000 {
      if held.isEmpty || random.below(5) < 3 && held.count < 50 {
        held.append(try #require(server.connect()))
      } else {
        server.disconnect(held.remove(at: random.below(held.count)))
      }
      #expect(server.clients.map(\.id) == held.map(\.id))
    }
    let stranger = try #require(Server(Database(), application: Application()).connect())
    server.disconnect(stranger)
    #expect(server.clients.count == held.count)
  }
}
