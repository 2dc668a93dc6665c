public import AttoEventLoop
import AttoLinks
public import AttoRadio
import CAttoLinux
import Glibc

/// Captures the kernel's HCI traffic (HCI_CHANNEL_MONITOR), as btmon does: of all adapters and all
/// programs. Requires CAP_NET_RAW. For the loop's thread only.
///
/// The kernel does not wait: records for which its buffer has no room are dropped, and counted.
public final class KernelMonitor {
  /// The receive buffer of the socket, in octets as the kernel counts them.
  public static let bufferLimit: Int32 = 4 << 20
  /// Records that are received in one turn of the loop.
  static let recordsPerTurn = 256

  private let onDropped: (Int) -> Void
  private let onRecord: (MonitorRecord) -> Void
  private var socket: WatchedDescriptor?
  private var buffer = [UInt8](
    repeating: 0, count: MonitorRecord.headerLength + MonitorRecord.longestContent)
  /// Dropped records, as the kernel counts them.
  private var dropped: UInt32 = 0

  /// Starts to capture. The first records list the adapters.
  ///
  /// - Parameters:
  ///   - onDropped: called with the number of records that were dropped since the last call. They
  ///     followed the records until then.
  ///   - onRecord: called with each record.
  /// - Throws: `system` with EPERM without the capability, `link` where the kernel has no Bluetooth.
  public init(
    on loop: Loop, onDropped: @escaping (Int) -> Void, onRecord: @escaping (MonitorRecord) -> Void
  ) throws(RadioError) {
    self.onDropped = onDropped
    self.onRecord = onRecord
    let descriptor = clinux_whole_monitor_socket(Self.bufferLimit)
    switch -descriptor {
    case EPERM, EACCES: throw .system("capture the kernel's HCI traffic", errno: EPERM)
    case 1...: throw .link(LinkError(.open, .system(-descriptor), endpoint: "le:"))
    default: break
    }
    socket = try WatchedDescriptor(descriptor, on: loop) { [weak self] _ in self?.receive() }
  }

  /// Ends capturing.
  public func stop() {
    countDropped()
    socket?.end()
    socket = nil
  }

  private func receive() {
    for _ in 0..<Self.recordsPerTurn {
      guard let socket else { return }
      var time: Int64 = 0
      let length = buffer.withUnsafeMutableBytes {
        clinux_monitor_receive(socket.descriptor, $0.baseAddress, $0.count, &time)
      }
      guard length >= 0 else { return countDropped() }
      if time == 0 { time = Self.now }
      let datagram = buffer.prefix(length)
      if let record = MonitorRecord(datagram, length: length, time: time) { onRecord(record) }
    }
    socket?.again()
  }

  /// Microseconds since 1970, for records without a time.
  private static var now: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
  }

  /// Called when the socket is empty: records were dropped after those that were received.
  private func countDropped() {
    guard let socket else { return }
    let count = clinux_dropped(socket.descriptor)
    guard count >= 0 else { return }
    // The counter of the kernel has 32 bits and wraps around.
    let more = UInt32(truncatingIfNeeded: count) &- dropped
    dropped &+= more
    if more > 0 { onDropped(Int(more)) }
  }
}
