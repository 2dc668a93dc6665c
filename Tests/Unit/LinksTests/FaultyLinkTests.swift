import AttoATT
import TestSupport
import Testing

@testable import AttoLinks
@testable import AttoSimulation

@Suite("Faults", .oneByOne)
struct FaultyLinkTests {
  private func pair(
    seed: UInt64 = 1, outgoing: Faults = Faults(), incoming: Faults = Faults(),
    capacity: Int = 4096
  ) -> (faulty: FaultyLink, peer: MemoryLink, observer: Observer) {
    let (a, b) = MemoryLink.pair(capacity: capacity)
    let faulty = FaultyLink(a, seed: seed, outgoing: outgoing, incoming: incoming)
    let observer = Observer()
    faulty.observer = observer
    return (faulty, b, observer)
  }

  @Test("Without faults it behaves like the link below")
  func transparent() throws {
    let (faulty, peer, observer) = pair()
    for length in [0, 1, 23, 517] {
      #expect(try faulty.send(octets(length)) == .sent)
      #expect(try peer.receive() == .pdu(octets(length)))
      try peer.send(octets(length))
      #expect(try faulty.receive() == .pdu(octets(length)))
    }
    try peer.send(octets(100))
    #expect(try faulty.receive(room: 23) == .cut(Array(octets(100)[..<23]), from: 100))
    #expect(observer.told == Array(repeating: .readable, count: 5))
    #expect(faulty.records.isEmpty)
    #expect(faulty.deadline == nil)
    try faulty.raiseSecurity(to: .high)
    #expect(peer.security.level == .high)
    #expect(observer.told.last == .securityChanged)
    peer.close()
    #expect(try faulty.receive() == .closed)
    #expect(throws: LinkError.self) { try faulty.send([1]) }
  }

  @Test("Each direction drops at its rate, and the same seed drops the same PDUs")
  func drop() throws {
    var first: [FaultRecord]?
    for _ in 0..<2 {
      let (faulty, peer, _) = pair(
        seed: 7, outgoing: Faults(drop: 0.25), incoming: Faults(drop: 0.5))
      for index in 0..<1000 {
        #expect(try faulty.send([UInt8(index & 255)]) == .sent)
        try peer.send([UInt8(index & 255)])
      }
      let out = try peer.receiveAll()
      let back = try faulty.receiveAll()
      #expect((700...800).contains(out.count))
      #expect((450...550).contains(back.count))
      #expect(faulty.records.count { $0.direction == .outgoing } == 1000 - out.count)
      #expect(faulty.records.count { $0.direction == .incoming } == 1000 - back.count)
      #expect(faulty.records.allSatisfy { $0.fault == .dropped })
      if let first { #expect(first == faulty.records) }
      first = faulty.records
    }
    let (other, peer, _) = pair(seed: 8, outgoing: Faults(drop: 0.25))
    for index in 0..<1000 { try other.send([UInt8(index & 255)]) }
    #expect(other.records != first)
    withExtendedLifetime(peer) {}
  }

  @Test("A cut PDU keeps its beginning")
  func cut() throws {
    let (faulty, peer, _) = pair(seed: 3, outgoing: Faults(cut: 1), incoming: Faults(cut: 1))
    try faulty.send(octets(23))
    try faulty.send([])
    try peer.send(octets(23))
    guard case .cut(let length) = faulty.records[0].fault else {
      Issue.record("\(faulty)")
      return
    }
    #expect(length < 23)
    #expect(try peer.receiveAll() == [.pdu(Array(octets(23)[..<length])), .pdu([])])
    guard case .pdu(let octets) = try faulty.receive() else {
      Issue.record("\(faulty)")
      return
    }
    #expect(octets.count < 23)
    #expect(faulty.records.count == 2)
    #expect(faulty.description.contains("outgoing 0 (23 octets): cut to \(length)"))
    #expect(faulty.description.hasPrefix("faults with seed 3:"))
  }

  @Test("A duplicated PDU arrives twice, in order")
  func duplicate() throws {
    let (faulty, peer, _) = pair(
      outgoing: Faults(duplicate: 1), incoming: Faults(duplicate: 1))
    try faulty.send([1])
    try faulty.send([2])
    try peer.send([3])
    #expect(try peer.receiveAll() == [.pdu([1]), .pdu([1]), .pdu([2]), .pdu([2])])
    #expect(try faulty.receiveAll() == [.pdu([3]), .pdu([3])])
  }

  @Test("A duplicate without room waits and precedes the next PDU")
  func duplicateWithoutRoom() throws {
    let (faulty, peer, _) = pair(outgoing: Faults(duplicate: 1), capacity: 1)
    #expect(try faulty.send([1]) == .sent)
    #expect(faulty.deadline == Instant.zero + .milliseconds(1))
    #expect(try faulty.send([2]) == .sent)
    var received: [Received] = []
    for _ in 0..<4 {
      received.append(try peer.receive())
      faulty.advance(to: faulty.deadline ?? .zero)
    }
    #expect(received == [.pdu([1]), .pdu([1]), .pdu([2]), .pdu([2])])
    #expect(faulty.deadline == nil)
  }

  @Test("Delayed PDUs arrive on time and in order, and the observer is notified")
  func delay() throws {
    let late = Faults(delay: 1, delays: .milliseconds(10)...(.milliseconds(10)))
    let (faulty, peer, observer) = pair(outgoing: late, incoming: late)
    faulty.advance(to: Instant(nanoseconds: 5_000_000))
    try faulty.send([1])
    try peer.send([2])
    #expect(try faulty.receive() == .wouldBlock)
    #expect(try peer.receive() == .wouldBlock)
    observer.told = []
    #expect(faulty.deadline == Instant(nanoseconds: 15_000_000))
    faulty.advance(to: Instant(nanoseconds: 14_999_999))
    #expect(try faulty.receive() == .wouldBlock)
    #expect(try peer.receive() == .wouldBlock)
    #expect(observer.told.isEmpty)
    faulty.advance(to: Instant(nanoseconds: 15_000_000))
    #expect(observer.told == [.readable])
    #expect(try faulty.receive() == .pdu([2]))
    #expect(try peer.receive() == .pdu([1]))
    #expect(faulty.deadline == nil)
  }

  @Test("Delays keep the order", arguments: [1, 2, 3] as [UInt64])
  func delayKeepsOrder(seed: UInt64) throws {
    let faults = Faults(delay: 0.3, delays: .zero...(.milliseconds(5)))
    let (faulty, peer, _) = pair(seed: seed, outgoing: faults, incoming: faults)
    var out: [Received] = []
    var back: [Received] = []
    for index in 0..<500 {
      faulty.advance(to: Instant(nanoseconds: Int64(index) * 500_000))
      #expect(try faulty.send([UInt8(index & 255), UInt8(index >> 8)]) == .sent)
      try peer.send([UInt8(index & 255), UInt8(index >> 8)])
      out += try peer.receiveAll()
      back += try faulty.receiveAll()
    }
    while let deadline = faulty.deadline {
      faulty.advance(to: deadline)
      out += try peer.receiveAll()
      back += try faulty.receiveAll()
    }
    let sent = (0..<500).map { Received.pdu([UInt8($0 & 255), UInt8($0 >> 8)]) }
    #expect(out == sent, "\(faulty)")
    #expect(back == sent, "\(faulty)")
  }

  @Test("At the limit of held PDUs sending blocks, until the link is writable again")
  func heldLimit() throws {
    let late = Faults(delay: 1, delays: .milliseconds(10)...(.milliseconds(10)))
    let (faulty, peer, observer) = pair(outgoing: late)
    var sent = 0
    while try faulty.send([1]) == .sent { sent += 1 }
    #expect(sent <= HeldPDUs.limit && sent > HeldPDUs.limit - 3)
    faulty.advance(to: Instant(nanoseconds: 10_000_000))
    #expect(observer.told == [.writable])
    #expect(try peer.receiveAll().count == sent)
  }

  @Test("The fate of a retried PDU is not drawn again")
  func undone() throws {
    let (faulty, peer, observer) = pair(
      seed: 11, outgoing: Faults(drop: 0.3, cut: 0.3), capacity: 4)
    let (twin, twinPeer, _) = pair(seed: 11, outgoing: Faults(drop: 0.3, cut: 0.3))
    var received: [Received] = []
    for index in 0..<200 {
      try twin.send(octets(index))
      while try faulty.send(octets(index)) == .wouldBlock {
        #expect(try faulty.send(octets(index)) == .wouldBlock)
        received += try peer.receiveAll()
      }
    }
    received += try peer.receiveAll()
    #expect(faulty.records == twin.records)
    #expect(try twinPeer.receiveAll() == received)
    #expect(observer.told.contains(.writable))
  }

  @Test("Disconnect after N, sending and receiving")
  func disconnect() throws {
    let (sender, peer, observer) = pair(outgoing: Faults(disconnectAfter: 2))
    for index in 0..<3 { #expect(try sender.send([UInt8(index)]) == .sent) }
    #expect(observer.told == [.closed])
    #expect(try sender.receive() == .closed)
    #expect(throws: LinkError.self) { try sender.send([1]) }
    #expect(try peer.receiveAll() == [.pdu([0]), .pdu([1]), .closed])
    #expect(
      sender.records
        == [FaultRecord(direction: .outgoing, index: 2, length: 1, fault: .disconnected)])

    let (receiver, other, _) = pair(incoming: Faults(disconnectAfter: 1))
    try other.send([1])
    try other.send([2])
    #expect(try receiver.receiveAll() == [.pdu([1]), .closed])
    #expect(throws: LinkError.self) { try other.send([3]) }
  }

  @Test("Over a socket the descriptor stays until the owner closes it")
  func overSocket() throws {
    let (a, b) = try SocketLink.pair()
    let late = Faults(delay: 1, delays: .milliseconds(1)...(.milliseconds(1)))
    let faulty = FaultyLink(a, seed: 5, outgoing: Faults(disconnectAfter: 1), incoming: late)
    let observer = Observer()
    faulty.observer = observer
    #expect(faulty.descriptor == a.descriptor)
    try b.send([7])
    #expect(try faulty.receive() == .wouldBlock)
    try faulty.send([1])
    faulty.advance(to: try #require(faulty.deadline))
    #expect(observer.told == [.readable])
    #expect(try faulty.receiveAll() == [.pdu([7])])
    try faulty.send([2])
    #expect(observer.told == [.readable, .closed])
    #expect(faulty.descriptor != nil)
    #expect(try faulty.receive() == .closed)
    #expect(try b.receiveAll() == [.pdu([1]), .closed])
    faulty.close()
    #expect(faulty.descriptor == nil)
  }

  @Test("Held PDUs are delivered before the end")
  func heldBeforeEnd() throws {
    let late = Faults(delay: 1, delays: .milliseconds(1)...(.milliseconds(1)))
    let (faulty, peer, _) = pair(incoming: late)
    try peer.send([1])
    peer.close()
    #expect(try faulty.receive() == .wouldBlock)
    faulty.advance(to: try #require(faulty.deadline))
    #expect(try faulty.receiveAll() == [.pdu([1]), .closed])
  }

  @Test("A flood of dropped PDUs does not block the reader")
  func flood() throws {
    let (faulty, peer, observer) = pair(incoming: Faults(drop: 1))
    for _ in 0..<2000 { try peer.send([1]) }
    observer.told = []
    #expect(try faulty.receive() == .wouldBlock)
    #expect(faulty.records.count == 1024)
    #expect(observer.told == [.readable])
    #expect(try faulty.receive() == .wouldBlock)
    #expect(faulty.records.count == 2000)
    #expect(observer.told == [.readable])
  }

  @Test("Faults beyond the limit of records are counted")
  func recordLimit() throws {
    let (faulty, peer, _) = pair(outgoing: Faults(drop: 1))
    for _ in 0..<(FaultyLink.recordLimit + 5) { try faulty.send([1]) }
    #expect(faulty.records.count == FaultyLink.recordLimit)
    #expect(faulty.unrecorded == 5)
    #expect(faulty.description.hasSuffix("and 5 more"))
    withExtendedLifetime(peer) {}
  }

  @Test("A given clock is used")
  func clock() throws {
    let (a, b) = MemoryLink.pair()
    var now = Instant.zero
    let late = Faults(delay: 1, delays: .milliseconds(1)...(.milliseconds(1)))
    let faulty = FaultyLink(a, seed: 1, incoming: late) { now }
    now = Instant(nanoseconds: 7)
    try b.send([1])
    #expect(try faulty.receive() == .wouldBlock)
    #expect(faulty.deadline == Instant(nanoseconds: 1_000_007))
    now = Instant(nanoseconds: 1_000_007)
    #expect(try faulty.receive() == .pdu([1]))
  }
}
