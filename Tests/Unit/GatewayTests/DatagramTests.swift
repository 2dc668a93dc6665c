import AttoLinks
import AttoStreams
import CAttoLinux
import Glibc
import TestSupport
import Testing

@Suite(.oneByOne) struct DatagramTests {
  @Test func to_an_abstract_name() throws {
    let name = "atto-test-\(getpid())"
    let receiver = try Self.receiver(name: [0] + name.utf8)
    #expect(UnixDatagrams.send([1, 2, 3], to: "@" + name))
    #expect(Self.received(receiver.rawValue) == [1, 2, 3])
    // Neither another name nor a path.
    for place in [name, "@" + name.dropLast(), "@\(name)x", "@", "", "/"] {
      #expect(!UnixDatagrams.send([1], to: place), "\(place)")
    }
    #expect(Self.received(receiver.rawValue) == nil)
  }

  /// The longest name fills the address; a longer one is refused, not cut.
  @Test func to_the_longest_name() throws {
    let name = String(repeating: "n", count: 90) + "\(10_000_000 + getpid())"
    let full = name + String(repeating: "e", count: 107 - name.utf8.count)
    let receiver = try Self.receiver(name: [0] + full.utf8)
    #expect(UnixDatagrams.send([7], to: "@" + full))
    #expect(Self.received(receiver.rawValue) == [7])
    #expect(!UnixDatagrams.send([7], to: "@" + full + "e"))
    #expect(Self.received(receiver.rawValue) == nil)
  }

  @Test func to_a_path() throws {
    let path = "/tmp/atto-test-\(getpid()).datagrams"
    defer { unlink(path) }
    let receiver = try Self.receiver(name: Array(path.utf8) + [0])
    #expect(UnixDatagrams.send([], to: path))
    #expect(Self.received(receiver.rawValue) == [])
    #expect(UnixDatagrams.send([9], to: path))
    #expect(Self.received(receiver.rawValue) == [9])
    #expect(!UnixDatagrams.send([9], to: path + "/" + String(repeating: "n", count: 108)))
  }

  /// A socket with these octets as its whole name.
  private static func receiver(name: [UInt8]) throws -> OwnedDescriptor {
    let result = socket(AF_UNIX, CLINUX_SOCK_DGRAM | O_NONBLOCK | O_CLOEXEC, 0)
    let receiver = OwnedDescriptor(owning: try #require(result >= 0 ? result : nil))
    var address = [UInt8](repeating: 0, count: 2 + name.count)
    address.withUnsafeMutableBytes { octets in
      octets.storeBytes(of: sa_family_t(AF_UNIX), as: sa_family_t.self)
      octets[2...].copyBytes(from: name)
    }
    let isBound = address.withUnsafeBytes { octets in
      octets.withMemoryRebound(to: sockaddr.self) {
        bind(receiver.rawValue, $0.baseAddress!, socklen_t(address.count)) == 0
      }
    }
    try #require(isBound)
    return receiver
  }

  /// The datagram that has arrived; nil if none has.
  private static func received(_ receiver: Int32) -> [UInt8]? {
    var octets = [UInt8](repeating: 0, count: 16)
    let count = recv(receiver, &octets, octets.count, 0)
    return count < 0 ? nil : Array(octets[..<count])
  }
}
