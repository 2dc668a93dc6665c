import AttoEventLoop
import AttoLinks
import AttoRadio
import CAttoLinux

/// Reads events about the links of a controller from the kernel's monitor. The loop's thread only;
/// ``close()`` must be called.
final class LinkMonitor {
  private var socket: WatchedDescriptor?
  /// As of the last ``receive()``.
  var links = LinkTable()
  private var buffer = [UInt8](repeating: 0, count: 512)

  /// nil if this process may not open the monitor (CAP_NET_RAW), or that fails.
  init?(_ index: UInt16, on loop: Loop) {
    let socket = clinux_monitor_socket(index)
    guard socket >= 0 else { return nil }
    guard
      let watched = try? WatchedDescriptor(
        socket, on: loop, { [weak self] _ in self?.receive() })
    else { return nil }
    self.socket = watched
  }

  /// Reads everything: events are few, since the socket filters advertising reports.
  func receive() {
    while let socket {
      let length = buffer.withUnsafeMutableBytes {
        clinux_receive(socket.descriptor, $0.baseAddress, $0.count)
      }
      guard length >= 0 else { return }
      links.read(Array(buffer.prefix(length)))
    }
  }

  func close() {
    socket?.end()
    socket = nil
  }
}
