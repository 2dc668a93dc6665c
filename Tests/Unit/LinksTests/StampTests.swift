import CAttoLinux
import Glibc
import TestSupport
import Testing

@testable import AttoLinks

/// Time stamps of the kernel. L2CAP sockets are tested in the kernel lab (`stages`); here, a datagram socket
/// stands for them, which has the same stamps of received datagrams.
@Suite("Time stamps", .oneByOne)
struct StampTests {
  /// A datagram socket that is connected to itself.
  private func socket() throws -> Int32 {
    let made = Glibc.socket(AF_INET, Int32(CLINUX_SOCK_DGRAM), 0)
    try #require(made >= 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let results = withUnsafeMutableBytes(of: &address) { bytes -> [Int32] in
      let pointer = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress!
      return [
        bind(made, pointer, length), getsockname(made, pointer, &length),
        connect(made, pointer, length),
      ]
    }
    try #require(results == [0, 0, 0])
    return made
  }

  @Test("A received PDU has a stamp of the monotonic clock, between sending and receiving")
  func received() throws {
    let socket = try socket()
    defer { close(socket) }
    let flags = CLINUX_STAMP_SOFTWARE | CLINUX_STAMP_RX_SOFTWARE
    try #require(clinux_set_stamps(socket, Int32(flags)) == 0)
    var bytes = [UInt8](repeating: 0, count: 8)
    var stamp: Int64 = 7
    #expect(clinux_receive_stamped(socket, &bytes, 8, &stamp) == -Int(EAGAIN))
    #expect(stamp == 0)
    // The kernel begins to stamp datagrams a moment after the option was set; PDUs of L2CAP at once.
    let deadline = clinux_monotonic() + 60_000_000_000
    var (before, after): (Int64, Int64)
    repeat {
      before = clinux_monotonic()
      #expect(clinux_send(socket, [1, 2, 3] as [UInt8], 3) == 3)
      #expect(clinux_receive_stamped(socket, &bytes, 8, &stamp) == 3)
      after = clinux_monotonic()
      #expect(bytes[..<3] == [1, 2, 3])
    } while stamp == 0 && after < deadline
    // The clocks are read one after the other.
    #expect(stamp >= before - 1000 && stamp <= after, "\(before) \(stamp) \(after)")
    // A longer PDU than there is room for.
    #expect(clinux_send(socket, [UInt8](repeating: 9, count: 20), 20) == 20)
    #expect(clinux_receive_stamped(socket, &bytes, 8, &stamp) == 20)
    // Without stamps again. The kernel goes on to stamp for a while, so there may be one.
    #expect(clinux_set_stamps(socket, 0) == 0)
    #expect(clinux_send(socket, [4] as [UInt8], 1) == 1)
    #expect(clinux_receive_stamped(socket, &bytes, 8, &stamp) == 1)
  }

  @Test("The error queue of another protocol gives no stamps of PDUs, and never blocks")
  func others() throws {
    let socket = try socket()
    defer { close(socket) }
    let flags =
      CLINUX_STAMP_SOFTWARE | CLINUX_STAMP_TX_SOFTWARE | CLINUX_STAMP_OPT_ID
      | CLINUX_STAMP_OPT_TSONLY
    try #require(clinux_set_stamps(socket, Int32(flags)) == 0)
    var (kind, number, stamp): (Int32, UInt32, Int64) = (0, 0, 0)
    #expect(clinux_next_stamp(socket, &kind, &number, &stamp) == 0)
    #expect(clinux_send(socket, [1] as [UInt8], 1) == 1)
    #expect(clinux_next_stamp(socket, &kind, &number, &stamp) == 1)
    #expect(Int(kind) == CLINUX_STAMP_OTHER && stamp > 0)
    #expect(clinux_next_stamp(socket, &kind, &number, &stamp) == 0)
  }

  @Test("The stamps of the PDUs that were sent last are kept")
  func recent() throws {
    let socket = try socket()
    defer { close(socket) }
    let stamps = try #require(SocketStamps(of: socket))
    #expect(stamps.sent(0) == nil)
    stamps.noteSent(Int32(SocketStamps.capacity))
    #expect(stamps.sent(0) == SocketStamps.Sent(number: 0))
    stamps.noteSent(1)
    #expect(stamps.sent(0) == nil && stamps.sent(1) != nil)
    #expect(stamps.sent(UInt32(SocketStamps.capacity)) != nil)
    #expect(stamps.next == UInt32(SocketStamps.capacity) + 1)
    #expect(stamps.sent(stamps.next) == nil)
  }

  @Test("On a stream, what one call sends has the number of its last octet")
  func streams() throws {
    let socket = try socket()
    defer { close(socket) }
    let stamps = try #require(SocketStamps(of: socket))
    stamps.noteSent(octets: 10)
    stamps.noteSent(octets: 0)
    stamps.noteSent(octets: 900)
    #expect(stamps.next == 910)
    #expect(stamps.sent(9) != nil && stamps.sent(909) != nil && stamps.sent(10) == nil)
  }

  @Test("A channel over a Unix socket has no stamps")
  func channels() throws {
    let channel = ChannelSocket(
      OwnedDescriptor(owning: try socket()), carrier: .unix, peerName: "itself")
    #expect(channel.stamp(true) == [] && channel.stamps == nil)
  }

  @Test("Stamps that are wanted again go on to count, as the kernel does")
  func again() throws {
    let link = SocketLink(
      OwnedDescriptor(owning: try socket()), carrier: .l2cap, peerName: "itself")
    let kinds = link.stamp(true)
    #expect(kinds.contains(.arrived))
    let stamps = try #require(link.stamps)
    try link.send([1])
    #expect(link.stamp(true) == kinds && link.stamps === stamps && stamps.next == 1)
    #expect(try link.receive() == .pdu([1]))
    link.stamp(false)
    #expect(link.stamps == nil)
    #expect(link.stamp(true) == kinds && link.stamps?.next == 0)
  }

  @Test("A Unix socket has no stamps, and works as before")
  func unix() throws {
    let (a, b) = try SocketLink.pair()
    #expect(b.stamp(true) == [])
    #expect(b.stamps == nil)
    try a.send([1, 2])
    #expect(try b.receive() == .pdu([1, 2]))
    b.stamp(false)
    b.close()
    #expect(b.stamp(true) == [])
  }
}
