import CLinux
import EventLoop
import Links

/// Follows what a controller reports of its links, through the kernel's monitor. The loop's thread
/// only; ``close()`` must be called.
final class LinkMonitor {
  private var socket: WatchedDescriptor?
  private(set) var links = LinkTable()
  private var buffer = [UInt8](repeating: 0, count: 512)

  /// nil where the monitor is closed to this process (CAP_NET_RAW) or cannot be had.
  init?(_ index: UInt16, on loop: Loop) {
    let socket = clinux_monitor_socket(index)
    guard socket >= 0 else { return nil }
    guard
      let watched = try? WatchedDescriptor(
        socket, on: loop, { [weak self] _ in self?.receive() })
    else { return nil }
    self.socket = watched
  }

  /// Events are few, once advertising reports are kept out.
  func receive() {
    while let socket {
      let length = buffer.withUnsafeMutableBytes {
        clinux_receive(socket.descriptor, $0.baseAddress, $0.count)
      }
      guard length >= 0 else { return }
      links.take(Array(buffer.prefix(length)))
    }
  }

  /// Why a peer has refused a channel: the oldest such answer that was not asked for yet.
  func takeRefusal(by peer: BluetoothAddress) -> ChannelRefusal? {
    // The answer was shown before the socket was told.
    receive()
    return links.takeRefusal(by: peer)
  }

  /// Before this process asks for a channel, and nothing that it has asked for is open.
  func forgetRefusals() {
    receive()
    links.forgetRefusals()
  }

  func close() {
    socket?.end()
    socket = nil
  }
}
