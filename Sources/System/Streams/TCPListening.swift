import AttoLinks
import CAttoLinux
import Glibc

/// A connection that was accepted, before anything watches it.
package final class StreamSocket: Sendable {
  package let descriptor: OwnedDescriptor
  /// The address and port of the other end, or `unix`.
  package let peerName: String

  /// Takes ownership of a connected, non-blocking stream socket.
  package init(_ descriptor: consuming OwnedDescriptor, peerName: String? = nil) {
    self.peerName = peerName ?? numericName(descriptor.rawValue, getpeername) ?? "unix"
    self.descriptor = descriptor
  }
}

/// Sockets that listen for TCP connections.
package enum TCPListening {
  /// Connections that the kernel holds until they are accepted.
  static let backlog: Int32 = 4096
  /// Octets that the kernel holds for a peer that does not read. It counts its own needs twice.
  static let sendBuffer: Int32 = 65_536

  /// Listens at a numeric address, IPv4 or IPv6. Names are not looked up, because that could block.
  /// At `::` IPv4 connections arrive too. A port of 0 lets the system choose one.
  ///
  /// - Throws: `LinkError` with EINVAL for an address that is not numeric, and with EADDRINUSE,
  ///   EADDRNOTAVAIL or EACCES as the system says.
  package static func listen(
    host: String, port: UInt16
  ) throws(LinkError) -> SocketListener<StreamSocket> {
    let endpoint = host.utf8.contains(0x3A) ? "[\(host)]:\(port)" : "\(host):\(port)"
    var hints = addrinfo()
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
    hints.ai_socktype = CLINUX_SOCK_STREAM
    var found: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, "\(port)", &hints, &found) == 0, let address = found?.pointee else {
      throw LinkError(.listen, .system(EINVAL), endpoint: endpoint)
    }
    defer { freeaddrinfo(found) }
    let result = clinux_stream_socket(address.ai_family, 0)
    guard result >= 0 else { throw LinkError(.open, .system(-result), endpoint: endpoint) }
    let socket = OwnedDescriptor(owning: result)
    // A restart need not wait for the last connections of the process before.
    _ = clinux_set_option(socket.rawValue, SOL_SOCKET, SO_REUSEADDR, 1)
    if address.ai_family == AF_INET6 {
      _ = clinux_set_option(socket.rawValue, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0)
    }
    guard bind(socket.rawValue, address.ai_addr, address.ai_addrlen) == 0 else {
      throw LinkError(.listen, .system(errno), endpoint: endpoint)
    }
    let listening = clinux_listen(socket.rawValue, backlog)
    guard listening == 0 else { throw LinkError(.listen, .system(-listening), endpoint: endpoint) }
    return SocketListener(socket, endpoint: endpoint) { descriptor in
      // Messages are collected for a turn of the loop; the kernel need not wait for more.
      _ = clinux_set_option(descriptor.rawValue, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
      _ = clinux_set_option(descriptor.rawValue, SOL_SOCKET, SO_SNDBUF, sendBuffer)
      return StreamSocket(descriptor)
    }
  }

  /// The address and port at which a socket listens: `127.0.0.1:6053`.
  package static func name(of descriptor: Int32) -> String? {
    numericName(descriptor, getsockname)
  }
}

private func numericName(
  _ descriptor: Int32,
  _ call: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
) -> String? {
  var storage = sockaddr_storage()
  var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
  var (host, port) = ([CChar](repeating: 0, count: 64), [CChar](repeating: 0, count: 8))
  let isNamed = withUnsafeMutablePointer(to: &storage) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      call(descriptor, $0, &length) == 0
        && [AF_INET, AF_INET6].contains(Int32($0.pointee.sa_family))
        && getnameinfo(
          $0, length, &host, socklen_t(host.count), &port, socklen_t(port.count),
          NI_NUMERICHOST | NI_NUMERICSERV) == 0
    }
  }
  guard isNamed else { return nil }
  let texts = [host, port].map {
    String(decoding: $0.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
  }
  return texts[0].utf8.contains(0x3A) ? "[\(texts[0])]:\(texts[1])" : texts.joined(separator: ":")
}
