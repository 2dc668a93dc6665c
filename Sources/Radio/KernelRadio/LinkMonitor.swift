import AttoEventLoop
import AttoHCI
import AttoLinks
import AttoRadio
import CAttoLinux

/// Reads events about the links of a controller from the kernel's monitor, and the answers to commands that the kernel
/// passes on. The loop's thread only; ``close()`` must be called.
///
/// The management socket has a command for commands to the controller (0x005B), which Linux 7.3 has and 6.12 has
/// not, and its answer has a status of the kernel's in place of the controller's. A raw socket passes them on in all
/// releases, and the monitor shows the controller's status.
///
/// An answer names the opcode of its command, and nothing else: it may be that to a command of somebody else.
final class LinkMonitor {
  /// How long a controller may take to answer. The kernel gives it 2 s.
  static let patience: Duration = .seconds(2)

  /// How a command ended.
  private enum Ending {
    case answered(status: UInt8, ArraySlice<UInt8>)
    case silent
    case notSent(errno: Int32)
    case closed
  }

  private struct Waiting {
    let opcode: UInt16
    let timer: LoopTimer
    let completion: (Ending) -> Void
  }

  private var socket: WatchedDescriptor?
  /// As of the last ``receive()``.
  var links = LinkTable()
  private let index: UInt16
  private let host: RadioHost
  private let loop: Loop
  private var waiting: [Waiting] = []
  private var buffer = [UInt8](repeating: 0, count: 512)

  /// nil if this process may not open the monitor (CAP_NET_RAW), or that fails.
  ///
  /// - Parameter socket: carries the monitor's datagrams in place of the kernel's socket, in tests.
  init?(_ index: UInt16, _ host: RadioHost, socket: Int32? = nil, on loop: Loop) {
    let socket = socket ?? clinux_monitor_socket(index)
    guard socket >= 0 else { return nil }
    (self.index, self.host, self.loop) = (index, host, loop)
    guard
      let watched = try? WatchedDescriptor(
        socket, on: loop, { [weak self] _ in self?.receive() })
    else { return nil }
    self.socket = watched
  }

  /// Sends a command to the controller and waits for its status.
  ///
  /// - Parameter purpose: to follow "cannot".
  /// - Returns: what the controller returns after the status.
  /// - Throws: `refusedByController`, also if it does not answer; `system`; `closed`.
  @discardableResult
  nonisolated(nonsending) func command(
    _ command: HCICommand, _ purpose: String
  ) async throws(RadioError) -> [UInt8] {
    let ending = await withCheckedContinuation(isolation: #isolation) { continuation in
      send(command) { continuation.resume(returning: $0) }
    }
    switch ending {
    case .answered(status: 0, let values): return Array(values)
    case .answered(let status, _):
      throw .refusedByController(purpose, DisconnectReason(rawValue: status))
    case .silent: throw .refusedByController(purpose, nil)
    case .notSent(let errno): throw .system(purpose, errno: errno)
    case .closed: throw .closed
    }
  }

  private func send(_ command: HCICommand, _ completion: @escaping (Ending) -> Void) {
    guard socket != nil else { return completion(.closed) }
    // Answers to earlier commands.
    receive()
    let opcode = command.opcode
    let timer = LoopTimer(after: Self.patience, on: loop) { [weak self] in
      self?.end(opcode, .silent)
    }
    waiting.append(Waiting(opcode: opcode, timer: timer, completion: completion))
    if let errno = command.send(to: index) { end(opcode, .notSent(errno: errno)) }
  }

  private func end(_ opcode: UInt16, _ ending: Ending) {
    guard let place = waiting.firstIndex(where: { $0.opcode == opcode }) else { return }
    let ended = waiting.remove(at: place)
    ended.timer.cancel()
    ended.completion(ending)
  }

  /// Reads everything: events are few, since the socket filters advertising reports.
  func receive() {
    while let socket {
      let length = buffer.withUnsafeMutableBytes {
        clinux_receive(socket.descriptor, $0.baseAddress, $0.count)
      }
      guard length >= 0 else { return }
      if let (opcode, status, values) = links.read(Array(buffer.prefix(length))) {
        end(opcode, .answered(status: status, values))
      }
      if let change = links.change { host.linkChanged(change) }
    }
  }

  func close() {
    socket?.end()
    socket = nil
    for command in waiting { end(command.opcode, .closed) }
  }
}

extension HCICommand {
  /// Has the kernel pass on the command. Returns an errno; nil: done.
  func send(to adapter: UInt16) -> Int32? {
    let error = packet.withUnsafeBytes { clinux_hci_command(adapter, $0.baseAddress, $0.count) }
    return error == 0 ? nil : Int32(-error)
  }
}
