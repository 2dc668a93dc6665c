import AttoEventLoop
import AttoLinks
import CAttoLinux
import Glibc

/// A version of the Internet protocol.
package enum InternetFamily: Hashable, Sendable {
  case ipv4, ipv6

  var number: Int32 { self == .ipv4 ? CLINUX_INET : CLINUX_INET6 }
  var length: Int { self == .ipv4 ? 4 : 16 }
}

/// An address of an interface of this machine.
package struct InterfaceAddress: Hashable, Sendable {
  /// The index of the interface.
  package var interface: UInt32
  package var family: InternetFamily
  /// 4 or 16 octets.
  package var octets: [UInt8]
  package var isLoopback = false
  package var isMulticast = true

  /// Addresses of a machine that are looked at.
  static let limit = 256

  /// The addresses of interfaces that are up and have a link, in the kernel's order.
  package static func all() throws(LinkError) -> [InterfaceAddress] {
    var found = [clinux_interface_address](repeating: .init(), count: limit)
    let count = clinux_interface_addresses(&found, Int32(found.count))
    guard count >= 0 else { throw LinkError(.open, .system(-count), endpoint: "rtnetlink") }
    return found.prefix(Int(count)).map { entry in
      let family: InternetFamily = entry.family == CLINUX_INET ? .ipv4 : .ipv6
      let octets = withUnsafeBytes(of: entry.octets) { Array($0.prefix(family.length)) }
      return InterfaceAddress(
        interface: entry.interface, family: family, octets: octets,
        isLoopback: entry.is_loopback != 0, isMulticast: entry.is_multicast != 0)
    }
  }
}

/// A socket for the datagrams of a multicast group on one interface. The loop's thread only.
package final class MulticastSocket: ReadinessHandler {
  /// Octets of a datagram (RFC 6762, section 17). Longer ones are dropped.
  package static let datagramLimit = 9000
  /// Datagrams that one turn of the loop receives.
  static let datagramsPerTurn = 16

  /// The sender of a datagram.
  package struct Sender: Hashable, Sendable {
    package var octets: [UInt8]
    package var port: UInt16

    package init(octets: [UInt8], port: UInt16) { (self.octets, self.port) = (octets, port) }
  }

  private let descriptor: OwnedDescriptor
  private let loop: Loop
  private let family: InternetFamily
  private let interface: UInt32
  private let group: Sender
  private let receive: ([UInt8], Sender) -> Void
  private var watch: WatchID?

  /// Joins a group.
  ///
  /// - Throws: `LinkError` with EADDRINUSE if another program has the port for itself, or as the system says.
  package init(
    _ family: InternetFamily, group: [UInt8], port: UInt16, interface: UInt32, on loop: Loop,
    receive: @escaping ([UInt8], Sender) -> Void
  ) throws {
    let result = clinux_multicast_socket(family.number, group, port, interface)
    guard result >= 0 else {
      throw LinkError(.listen, .system(-result), endpoint: "UDP port \(port)")
    }
    descriptor = OwnedDescriptor(owning: result)
    (self.family, self.interface, self.loop) = (family, interface, loop)
    self.group = Sender(octets: group, port: port)
    self.receive = receive
    watch = try loop.watch(result, trigger: .level, self)
  }

  /// Sends a datagram to one receiver, by default to the group. It is lost if the network has no room for it.
  package func send(_ octets: [UInt8], to receiver: Sender? = nil) {
    let receiver = receiver ?? group
    _ = clinux_send_datagram(
      descriptor.rawValue, octets, octets.count, family.number, receiver.octets, receiver.port,
      interface)
  }

  package func close() {
    if let watch { loop.unwatch(watch) }
    watch = nil
  }

  package func ready(_ readiness: Readiness) {
    for _ in 0..<Self.datagramsPerTurn {
      guard watch != nil else { return }
      var (sender, port) = ([UInt8](repeating: 0, count: 16), UInt16(0))
      var buffer = [UInt8](repeating: 0, count: Self.datagramLimit)
      let count = clinux_receive_datagram(
        descriptor.rawValue, &buffer, buffer.count, &sender, &port)
      guard count >= 0 else { return }
      guard count <= buffer.count else { continue }
      receive(
        Array(buffer.prefix(count)), Sender(octets: Array(sender.prefix(family.length)), port: port)
      )
    }
  }
}

/// Tells when interfaces of this machine or their addresses change. The loop's thread only.
package final class NetworkChanges: ReadinessHandler {
  private let descriptor: OwnedDescriptor
  private let loop: Loop
  private let changed: () -> Void
  private var watch: WatchID?

  /// - Throws: `LinkError` as the system says, for instance if the process may not use netlink.
  package init(on loop: Loop, _ changed: @escaping () -> Void) throws {
    let result = clinux_network_changes()
    guard result >= 0 else { throw LinkError(.open, .system(-result), endpoint: "rtnetlink") }
    descriptor = OwnedDescriptor(owning: result)
    (self.loop, self.changed) = (loop, changed)
    watch = try loop.watch(result, trigger: .level, self)
  }

  package func close() {
    if let watch { loop.unwatch(watch) }
    watch = nil
  }

  package func ready(_ readiness: Readiness) {
    var buffer = [UInt8](repeating: 0, count: 8192)
    for _ in 0..<64 {
      // ENOBUFS tells that changes were lost, which is a change as well.
      let count = clinux_receive_stream(descriptor.rawValue, &buffer, buffer.count)
      if count < 0, count != -Int(ENOBUFS) { break }
    }
    changed()
  }
}
