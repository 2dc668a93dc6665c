import CLinux
import Glibc
import Links
import Testing

/// What of the shim no type here uses yet.
@Suite("The shim")
struct ShimTests {
  @Test("Several PDUs go and come with one call, as far as there is room")
  func several() throws {
    let (a, b) = try SocketLink.pair()
    let storage = UnsafeMutableRawBufferPointer.allocate(byteCount: 100 * 16, alignment: 1)
    defer { storage.deallocate() }
    for index in 0..<storage.count { storage[index] = UInt8(index / 16) }
    var pdus = (0..<100).map {
      clinux_pdu(bytes: storage.baseAddress! + $0 * 16, capacity: $0 % 16, length: 0)
    }
    // At most a batch at a time.
    #expect(clinux_send_several(a.descriptor!, &pdus, 100) == 64)
    storage.initializeMemory(as: UInt8.self, repeating: 0xFF)
    for index in pdus.indices { pdus[index].capacity = 8 }
    #expect(clinux_receive_several(b.descriptor!, &pdus, 10) == 10)
    #expect(clinux_receive_several(b.descriptor!, &pdus[10], 90) == 54)
    for index in 0..<64 {
      // The length is the PDU's own, also beyond the room.
      #expect(pdus[index].length == index % 16)
      let stored = min(index % 16, 8)
      let bytes = storage[index * 16..<index * 16 + 16]
      #expect(bytes.prefix(stored).allSatisfy { $0 == UInt8(index) })
      #expect(bytes.dropFirst(stored).allSatisfy { $0 == 0xFF })
    }
    #expect(clinux_receive_several(b.descriptor!, &pdus, 10) == -EAGAIN)
    a.close()
    #expect(clinux_send_several(b.descriptor!, &pdus, 1) == -EPIPE)
  }

  @Test("A descriptor goes along with a PDU and closes on exec")
  func descriptors() throws {
    let (a, b) = try SocketLink.pair()
    let (c, d) = try SocketLink.pair()
    #expect(clinux_send_descriptor(a.descriptor!, [1, 2, 3] as [UInt8], 3, c.descriptor!) == 3)
    try a.send([4])
    c.close()
    var bytes = [UInt8](repeating: 0, count: 8)
    var passed: Int32 = 0
    #expect(clinux_receive_descriptor(b.descriptor!, &bytes, 8, &passed) == 3)
    #expect(bytes[..<3] == [1, 2, 3])
    #expect(fcntl(passed, F_GETFD) & FD_CLOEXEC != 0)
    let link = try SocketLink.adopt(passed)
    try link.send([9])
    #expect(try d.receive() == .pdu([9]))
    #expect(clinux_receive_descriptor(b.descriptor!, &bytes, 8, &passed) == 1)
    #expect(passed == -1)
    #expect(clinux_receive_descriptor(b.descriptor!, &bytes, 8, &passed) == -Int(EAGAIN))
  }

  @Test("The monotonic clock goes forward")
  func clock() {
    let first = clinux_monotonic()
    #expect(clinux_monotonic() >= first)
    #expect(first > 0)
  }
}
