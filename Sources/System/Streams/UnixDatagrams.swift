import AttoLinks
import CAttoLinux
import Glibc

/// Datagram sockets of other programs on this machine.
package enum UnixDatagrams {
  /// Sends one datagram. Does not block: if the receiver's queue is full the datagram is lost.
  ///
  /// - Parameter place: the path of a socket, or `@` and a name in the abstract namespace (unix(7)).
  /// - Returns: whether the receiver has it.
  @discardableResult package static func send(_ octets: [UInt8], to place: String) -> Bool {
    let descriptor = socket(AF_UNIX, CLINUX_SOCK_DGRAM | O_NONBLOCK | O_CLOEXEC, 0)
    guard descriptor >= 0 else { return false }
    let socket = OwnedDescriptor(owning: descriptor)
    return connect(socket.rawValue, to: place)
      && clinux_send(socket.rawValue, octets, octets.count) == octets.count
  }

  private static func connect(_ socket: Int32, to place: String) -> Bool {
    guard place.utf8.first == UInt8(ascii: "@") else {
      return clinux_unix_connect(socket, place, place.utf8.count) == 0
    }
    // All octets of an abstract name count, so none may follow it.
    let name = [0] + place.utf8.dropFirst()
    var address = sockaddr_un()
    guard name.count > 1, name.count <= MemoryLayout.size(ofValue: address.sun_path) else {
      return false
    }
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    let size = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
    return withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(socket, $0, size) == 0 }
    }
  }
}
