import AttoATT
import Glibc
import TestSupport
import Testing

@testable import AttoLinks

@Suite("Links in memory", .oneByOne)
struct MemoryLinkTests {
  @Test(
    "PDUs arrive whole and in order, truncated if there is no room",
    arguments: [0, 1, 23, 517, 65_535])
  func whole(length: Int) throws {
    let (a, b) = MemoryLink.pair()
    #expect(try b.receive() == .wouldBlock)
    try a.send(octets(length))
    try a.send(octets(600))
    #expect(try b.receive(room: 65_536) == .pdu(octets(length)))
    #expect(try b.receive(room: 23) == .cut(Array(octets(600)[..<23]), from: 600))
    #expect(try b.receive() == .wouldBlock)
    try b.send([1])
    #expect(try a.receive() == .pdu([1]))
  }

  @Test("A full queue blocks its sender until half of it is free")
  func backPressure() throws {
    let (a, b) = MemoryLink.pair(capacity: 8)
    let observer = Observer()
    a.observer = observer
    for index in 0..<8 { #expect(try a.send([UInt8(index)]) == .sent) }
    #expect(try a.send([8]) == .wouldBlock)
    #expect(try a.send([8]) == .wouldBlock)
    for index in 0..<3 { #expect(try b.receive() == .pdu([UInt8(index)])) }
    #expect(observer.told.isEmpty)
    #expect(try b.receive() == .pdu([3]))
    #expect(observer.told == [.writable])
    #expect(try a.send([8]) == .sent)
    #expect(try b.receiveAll() == (4...8).map { .pdu([$0]) })
    #expect(observer.told == [.writable])
    // The other direction was never full.
    #expect(try b.send([1]) == .sent)
  }

  @Test("Observers are notified of PDUs, the end, and security")
  func observers() throws {
    let (a, b) = MemoryLink.pair()
    let observer = Observer()
    b.observer = observer
    try a.send([1])
    try a.raiseSecurity(to: .medium)
    try a.raiseSecurity(to: .low)
    #expect(b.security == LinkSecurity(.medium))
    a.close()
    #expect(observer.told == [.readable, .securityChanged, .closed])
    #expect(try b.receiveAll() == [.pdu([1]), .closed])
    #expect(throws: LinkError(.send, .system(EPIPE), endpoint: b.peerName)) { try b.send([1]) }
    #expect(throws: LinkError(.send, .closed, endpoint: a.peerName)) { try a.send([1]) }
    #expect(try a.receive() == .closed)
    a.close()
  }

  @Test("An end that is released is closed")
  func goesAway() throws {
    let b: MemoryLink
    do {
      let pair = MemoryLink.pair()
      try pair.0.send([1])
      b = pair.1
    }
    #expect(try b.receiveAll() == [.pdu([1]), .closed])
  }

  @Test("Two ends that answer each other immediately do not grow the stack")
  func noRecursion() throws {
    let (a, b) = MemoryLink.pair()
    let (one, two) = (Observer(), Observer())
    a.observer = one
    b.observer = two
    var depth = 0
    var deepest = 0
    var count = 0
    func echo(_ link: MemoryLink) -> (LinkReadiness) -> Void {
      { _ in
        depth += 1
        deepest = max(deepest, depth)
        if (try? link.receive()) == Received.pdu([1]), count < 100_000 {
          count += 1
          _ = try? link.send([1])
        }
        depth -= 1
      }
    }
    one.onReady = echo(a)
    two.onReady = echo(b)
    try a.send([1])
    #expect(count == 100_000)
    #expect(deepest == 1)
    one.onReady = { _ in }
    two.onReady = { _ in }
  }

  @Test("A PDU that no L2CAP channel could carry is refused")
  func tooLong() {
    let (a, _b) = MemoryLink.pair()
    #expect(throws: LinkError.self) { try a.send(octets(65_536)) }
    withExtendedLifetime(_b) {}
  }
}
