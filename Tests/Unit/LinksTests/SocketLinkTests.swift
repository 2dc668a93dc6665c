import TestSupport
import AttoATT
import CAttoLinux
import Glibc
import Testing

@testable import AttoLinks

@Suite("Socket links", .timeLimit(.minutes(5)), .oneByOne)
struct SocketLinkTests {
  @Test(
    "Whole PDUs, of every length that matters",
    arguments: [0, 1, 22, 23, 512, 517, 600, 65_535])
  func whole(length: Int) throws {
    let (a, b) = try SocketLink.pair()
    #expect(try b.receive() == .wouldBlock)
    #expect(try a.send(octets(length)) == .sent)
    #expect(try a.send([0x0A, 3, 0]) == .sent)
    #expect(try b.receive(room: 65_536) == .pdu(octets(length)))
    #expect(try b.receive() == .pdu([0x0A, 3, 0]))
    #expect(try b.receive() == .wouldBlock)
  }

  @Test("One call sends several PDUs in order, at most a batch")
  func together() throws {
    let (a, b) = try SocketLink.pair()
    var queue = PDUQueue()
    for index in 0..<100 { queue.append(octets(index % 30).span.bytes) }
    for sent in [64, 36] {
      let count = try queue.withEntries { (all) throws(LinkError) in try a.send(together: all) }
      #expect(count == sent)
      queue.removeFirst(sent)
    }
    let isEmpty = queue.isEmpty
    #expect(isEmpty)
    for index in 0..<100 { #expect(try b.receive() == .pdu(octets(index % 30))) }
    #expect(try b.receive() == .wouldBlock)
  }

  @Test("Of several PDUs those that fit are sent; after the end it is an error")
  func togetherUntilFull() throws {
    let (a, b) = try SocketLink.pair()
    var queue = PDUQueue()
    var next = 0
    var sent = 0
    while true {
      while queue.count < 10 {
        queue.append(octets(1000 + next % 7).span.bytes)
        next += 1
      }
      let count = try queue.withEntries { (all) throws(LinkError) in try a.send(together: all) }
      queue.removeFirst(count)
      sent += count
      if count == 0 { break }
    }
    let left = queue.count
    #expect(left == 10)
    for index in 0..<sent { #expect(try b.receive() == .pdu(octets(1000 + index % 7))) }
    #expect(try b.receive() == .wouldBlock)
    b.close()
    let error = #expect(throws: LinkError.self) {
      try queue.withEntries { (all) throws(LinkError) in try a.send(together: all) }
    }
    #expect(error?.reason == .system(EPIPE))
    a.close()
    #expect(throws: LinkError.self) {
      try queue.withEntries { (all) throws(LinkError) in try a.send(together: all) }
    }
  }

  @Test("A PDU is appended to the buffer")
  func appends() throws {
    let (a, b) = try SocketLink.pair()
    try a.send([1, 2, 3])
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 8, alignment: 1)
    defer { bytes.deallocate() }
    bytes.initializeMemory(as: UInt8.self, repeating: 9)
    var buffer = OutputRawSpan(buffer: bytes, initializedCount: 2)
    #expect(try b.receive(into: &buffer) == .pdu(truncatedFrom: nil))
    #expect(buffer.finalize(for: bytes) == 5)
    #expect(Array(bytes) == [9, 9, 1, 2, 3, 9, 9, 9])
  }

  @Test("A truncated PDU reports its length, and the next one is whole")
  func truncation() throws {
    let (a, b) = try SocketLink.pair()
    try a.send(octets(600))
    try a.send(octets(5))
    try a.send([1])
    #expect(try b.receive(room: 23) == .cut(Array(octets(600)[..<23]), from: 600))
    #expect(try b.receive(room: 0) == .cut([], from: 5))
    #expect(try b.receive(room: 1) == .pdu([1]))
  }

  @Test("A full socket accepts no part of a PDU, and becomes writable again")
  func backPressure() throws {
    let (a, b) = try SocketLink.pair(options: SocketOptions(sendBuffer: 4096))
    let descriptor = try #require(a.descriptor)
    var sent = 0
    while try a.send(octets(100)) == .sent { sent += 1 }
    #expect(sent > 0 && sent < 100)
    #expect(clinux_poll_now(descriptor) & CLINUX_POLLOUT == 0)
    var received = 0
    while try b.receive() == .pdu(octets(100)) { received += 1 }
    #expect(received == sent)
    #expect(clinux_poll_now(descriptor) & CLINUX_POLLOUT != 0)
    #expect(try a.send([1]) == .sent)
  }

  @Test("Empty PDUs are told apart from the end")
  func emptyAndEnd() throws {
    let (a, b) = try SocketLink.pair()
    try a.send([])
    try a.send([])
    #expect(try b.receiveAll() == [.pdu([]), .pdu([])])
    try a.send([])
    try a.send([7])
    a.close()
    a.close()
    // After the peer has closed, its PDUs are still received, including the empty one.
    #expect(try b.receiveAll() == [.pdu([]), .pdu([7]), .closed])
    #expect(try b.receive() == .closed)
    #expect(b.loss == nil)
    #expect(throws: LinkError(.send, .system(EPIPE), endpoint: b.peerName)) { try b.send([1]) }
  }

  @Test("PDUs of a peer that closes with unread PDUs are still received")
  func unread() throws {
    let (a, b) = try SocketLink.pair()
    try b.send([1])
    try a.send([0x0B, 9])
    try a.send([0x0B, 8])
    a.close()
    #expect(try b.receiveAll() == [.pdu([0x0B, 9]), .pdu([0x0B, 8]), .closed])
  }

  @Test("disconnect() ends both ends and keeps the descriptor until close()")
  func disconnect() throws {
    let (a, b) = try SocketLink.pair()
    try b.send([1])
    a.disconnect()
    #expect(a.descriptor != nil)
    #expect(try a.receive() == .closed)
    #expect(try b.receive() == .closed)
    #expect(throws: LinkError.self) { try a.send([1]) }
    a.close()
    #expect(a.descriptor == nil)
    #expect(throws: LinkError(.send, .closed, endpoint: a.peerName)) { try a.send([1]) }
  }

  @Test("A PDU that is too long for the socket is an error, and the link stays open")
  func tooLong() throws {
    let (a, b) = try SocketLink.pair(options: SocketOptions(sendBuffer: 4608))
    #expect(throws: LinkError(.send, .system(EMSGSIZE), endpoint: a.peerName)) {
      try a.send(octets(100_000))
    }
    try a.send([1])
    #expect(try b.receive() == .pdu([1]))
  }

  @Test("The security of a Unix socket is set by its owner")
  func security() throws {
    let (a, b) = try SocketLink.pair()
    #expect(a.security == .low)
    try a.raiseSecurity(to: .high)
    try a.raiseSecurity(to: .medium)
    #expect(a.security == LinkSecurity(.high))
    #expect(b.security == .low)
    b.assume(LinkSecurity(level: .medium, keySize: 7))
    #expect(b.security.keySize == 7)
  }

  @Test(
    "BT_PHY is believed only if it has one PHY for each direction",
    arguments: [
      // Nothing on Linux 6.12 before a change, all that are allowed on 7.3.
      (0, nil), (0x7E00, nil), (0x600 | 0x1000, nil), (0x200, nil), (0x3F, nil),
      (0x600, LinkPHY(transmit: .oneMegabit, receive: .oneMegabit)),
      (0x800 | 0x400, LinkPHY(transmit: .twoMegabit, receive: .oneMegabit)),
      (0x6000, LinkPHY(transmit: .coded, receive: .coded)),
    ] as [(UInt32, LinkPHY?)])
  func phys(bits: UInt32, expected: LinkPHY?) { #expect(LinkPHY(bits: bits) == expected) }

  @Test("The bits of a PHY to choose name it for both directions; a Unix socket has none to choose")
  func choice() throws {
    for kind in [LinkPHY.Kind.oneMegabit, .twoMegabit, .coded] {
      #expect(LinkPHY(bits: UInt32(kind.bits)) == LinkPHY(transmit: kind, receive: kind))
    }
    let (a, _) = try SocketLink.pair()
    try a.choosePHY(.twoMegabit)
  }

  @Test("A closed link closes its descriptor")
  func noLeak() throws {
    let before = openDescriptors()
    for _ in 0..<100 {
      let (a, b) = try SocketLink.pair()
      a.close()
      _ = b
    }
    // Other tests open some of their own at the same time, but not 200.
    #expect(openDescriptors() < before + 100)
  }

  private func openDescriptors() -> Int {
    (0..<1024).count { fcntl(Int32($0), F_GETFD) >= 0 }
  }
}

@Suite("Inherited descriptors", .oneByOne)
struct InheritedDescriptorTests {
  private func text(_ descriptor: Int32) -> String {
    do throws(LinkError) {
      _ = try SocketLink.adopt(descriptor)
      return "taken"
    } catch {
      return error.description
    }
  }

  @Test("A connected SOCK_SEQPACKET socket is adopted, and closes on exec")
  func taken() throws {
    let (a, b) = try SocketLink.pair()
    let copy = dup(try #require(a.descriptor))
    let link = try SocketLink.adopt(copy)
    #expect(link.peerName == "fd:\(copy)")
    #expect(link.carrier == .unix)
    #expect(fcntl(copy, F_GETFD) & FD_CLOEXEC != 0)
    try link.send([1])
    #expect(try b.receive() == .pdu([1]))
  }

  @Test("A blocking socket is used without blocking")
  func blocking() throws {
    var both: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, CLINUX_SOCK_SEQPACKET, 0, &both) == 0)
    let link = try SocketLink.adopt(both[0])
    let peer = try SocketLink.adopt(both[1])
    #expect(try link.receive() == .wouldBlock)
    while try link.send(octets(500)) == .sent {}
    #expect(try peer.receive() == .pdu(octets(500)))
  }

  @Test("Other descriptors are refused, with what they are")
  func refused() throws {
    let folder = TemporaryFolder()
    #expect(text(999_999).hasPrefix("cannot use fd:999999: no such descriptor was inherited"))
    let file = open("/proc/self/exe", O_RDONLY)
    #expect(text(file).contains("it is a regular file, not a socket"))
    var pipes: [Int32] = [-1, -1]
    pipe(&pipes)
    #expect(text(pipes[0]).contains("it is a pipe, not a socket"))
    let stream = socket(AF_UNIX, CLINUX_SOCK_STREAM, 0)
    #expect(
      text(stream).contains(
        "it is a socket of type SOCK_STREAM; a connected SOCK_SEQPACKET socket is required"))
    let lonely = socket(AF_UNIX, CLINUX_SOCK_SEQPACKET, 0)
    #expect(text(lonely).contains("it is a socket that is not connected"))
    let epoll = clinux_epoll_create()
    #expect(text(epoll).contains("a descriptor of another kind"))
    let listener = try SocketListener(folder("l"))
    let copy = dup(try #require(listener.descriptor))
    #expect(text(copy).contains("it is a listening socket"))
    for descriptor in [file, pipes[0], pipes[1], stream, lonely, epoll, copy] { close(descriptor) }
  }
}
