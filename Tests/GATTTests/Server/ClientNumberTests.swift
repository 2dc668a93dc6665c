import ATT
import Testing

@testable import GATT

/// What clients are called by a server that runs for years.
@Suite struct ClientNumberTests {
  @Test func aClientThatStaysKeepsItsNumberForItself() throws {
    let server = Server(Database(), application: Application())
    server.nextClient = .max - 1
    let ids = (0..<3).map { _ in server.connect()!.id.rawValue }
    #expect(ids == [.max - 1, .max, 0])
    // All numbers once round: the three are still there.
    server.nextClient = .max - 2
    let others = (0..<3).map { _ in server.connect()!.id.rawValue }
    #expect(others == [.max - 2, 1, 2])
    #expect(Set(ids + others).count == 6)
  }
}
