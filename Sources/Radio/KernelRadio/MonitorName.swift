import AttoLinks
import CAttoLinux
import Glibc

/// A name that says that a process has the advertisement monitor with this handle: an abstract Unix
/// socket, which nobody connects to. The kernel releases it when the process ends, however that happens.
final class MonitorName {
  /// Where the names are.
  enum Place: Hashable {
    /// Those of this machine. Management sockets work in its first network namespace only, which
    /// the names belong to.
    case machine
    /// Those of a test.
    case test(String)

    /// Whether bluetoothd runs, whose monitors have no names.
    var isShared: Bool {
      guard case .machine = self else { return false }
      let files = SystemFiles()
      return files.processes.contains { files.name(of: $0) == "bluetoothd" }
    }
  }

  private let socket: Int32

  /// nil if a process has the name.
  init?(_ handle: UInt16, of index: UInt16, in place: Place) {
    let prefix = if case .test(let name) = place { name } else { "atto-monitor" }
    let path = "\0\(prefix)-hci\(index)-\(handle)"
    socket = clinux_seqpacket_socket(AF_UNIX, 0)
    guard socket >= 0, clinux_unix_bind(socket, path, path.utf8.count) == 0 else { return nil }
  }

  deinit { if socket >= 0 { close(socket) } }
}
