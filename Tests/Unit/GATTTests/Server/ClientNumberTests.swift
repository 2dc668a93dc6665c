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
}
