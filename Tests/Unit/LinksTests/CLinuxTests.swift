import CAttoLinux
import Glibc
import AttoLinks
import TestSupport
import Testing

/// Functions of CLinux that no type of AttoLinks uses.
@Suite("CLinux", .oneByOne)
struct CLinuxTests {
  @Test("An incomplete entry is not sent")
  func entries() throws {
    let (a, b) = try SocketLink.pair()
    let descriptor = try #require(a.descriptor)
    let whole: [UInt8] = [1, 0, 7]
    for rest in [[], [9], [2, 0, 8], [0xFF, 0xFF]] as [[UInt8]] {
      #expect(clinux_send_entries(descriptor, whole + rest, 3 + rest.count) == 1)
      #expect(try b.receive() == .pdu([7]))
      #expect(try b.receive() == .wouldBlock)
    }
  }

  @Test("A descriptor is passed with a PDU and closes on exec")
  func descriptors() throws {
    let (a, b) = try SocketLink.pair()
    let (c, d) = try SocketLink.pair()
    let (sender, receiver) = (try #require(a.descriptor), try #require(b.descriptor))
    let sent = try #require(c.descriptor)
    #expect(clinux_send_descriptor(sender, [1, 2, 3] as [UInt8], 3, sent) == 3)
    try a.send([4])
    c.close()
    var bytes = [UInt8](repeating: 0, count: 8)
    var passed: Int32 = 0
    #expect(clinux_receive_descriptor(receiver, &bytes, 8, &passed) == 3)
    #expect(bytes[..<3] == [1, 2, 3])
    #expect(fcntl(passed, F_GETFD) & FD_CLOEXEC != 0)
    let link = try SocketLink.adopt(passed)
    try link.send([9])
    #expect(try d.receive() == .pdu([9]))
    #expect(clinux_receive_descriptor(receiver, &bytes, 8, &passed) == 1)
    #expect(passed == -1)
    #expect(clinux_receive_descriptor(receiver, &bytes, 8, &passed) == -Int(EAGAIN))
  }

  @Test("The monotonic clock goes forward")
  func clock() {
    let first = clinux_monotonic()
    #expect(clinux_monotonic() >= first)
    #expect(first > 0)
  }
}
