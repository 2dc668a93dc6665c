import CLinux
public import EventLoop
import Glibc
import Links

/// Looks on while the kernel speaks with its controllers (HCI_CHANNEL_MONITOR), as btmon does:
/// all adapters, all that passes, by whichever program. Wants CAP_NET_RAW.
///
/// Nothing holds the kernel back: what its buffer for this socket has no room for is dropped, and
/// told of. Released, it ends.
public final class KernelMonitor: Sendable {
  /// What the kernel is asked to hold for this socket, in octets as it counts them.
  public static let bufferLimit: Int32 = 4 << 20
  /// Records of one turn of the loop, after which others have theirs.
  static let recordsPerTurn = 256

  private let loop: Loop
  private let core: LoopBound<MonitorCore>

  private init(_ core: MonitorCore, _ loop: Loop) {
    self.loop = loop
    self.core = LoopBound(core, loop)
  }

  deinit { stop() }

  /// Begins to look on. What adapters there are comes first, as records.
  ///
  /// - Parameters:
  ///   - onDropped: called on the loop with the number of records that were dropped since the last
  ///     call; they came behind the records until then.
  ///   - onRecord: called on the loop. While it runs, records pile up in the kernel.
  /// - Throws: `system` with EPERM without the capability, `link` where the kernel has no Bluetooth.
  public static func open(
    loop: Loop = .shared, onDropped: @escaping @Sendable (Int) -> Void = { _ in },
    _ onRecord: @escaping @Sendable (MonitorRecord) -> Void
  ) async throws(RadioError) -> KernelMonitor {
    let result: Result<KernelMonitor, RadioError> = await withCheckedContinuation { continuation in
      loop.execute {
        do throws(RadioError) {
          let core = MonitorCore(onRecord, onDropped)
          try core.open(on: loop)
          continuation.resume(returning: .success(KernelMonitor(core, loop)))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    }
    return try result.get()
  }

  /// Looks on no longer.
  public func stop() {
    let core = core
    loop.inline { core.value.close() }
  }
}

/// The monitor's socket. The loop's thread only.
private final class MonitorCore {
  private let onRecord: @Sendable (MonitorRecord) -> Void
  private var socket: WatchedDescriptor?
  private var buffer = [UInt8](
    repeating: 0, count: MonitorRecord.headerLength + MonitorRecord.longestContent)
  private let onDropped: @Sendable (Int) -> Void
  /// As the kernel counts them.
  private var dropped: UInt32 = 0

  init(
    _ onRecord: @escaping @Sendable (MonitorRecord) -> Void,
    _ onDropped: @escaping @Sendable (Int) -> Void
  ) {
    self.onRecord = onRecord
    self.onDropped = onDropped
  }

  func open(on loop: Loop) throws(RadioError) {
    let descriptor = clinux_whole_monitor_socket(KernelMonitor.bufferLimit)
    switch -descriptor {
    case EPERM, EACCES: throw .system("look at the kernel's Bluetooth", errno: EPERM)
    case 1...: throw .link(LinkError(.open, .system(-descriptor), endpoint: "le:"))
    default: break
    }
    socket = try WatchedDescriptor(descriptor, on: loop) { [weak self] _ in self?.receive() }
  }

  private func receive() {
    for _ in 0..<KernelMonitor.recordsPerTurn {
      guard let socket else { return }
      var time: Int64 = 0
      let length = buffer.withUnsafeMutableBytes {
        clinux_monitor_receive(socket.descriptor, $0.baseAddress, $0.count, &time)
      }
      guard length >= 0 else { return lookForDropped() }
      if time == 0 { time = Self.now }
      let datagram = buffer.prefix(length)
      if let record = MonitorRecord(datagram, length: length, time: time) { onRecord(record) }
    }
    socket?.again()
  }

  /// Microseconds since 1970, for records of which the kernel does not say when it saw them.
  private static var now: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
  }

  /// The socket is empty: what was dropped was dropped behind what has been received.
  private func lookForDropped() {
    guard let socket else { return }
    let count = clinux_dropped(socket.descriptor)
    guard count >= 0 else { return }
    // The kernel's number has 32 bits, and wraps around.
    let more = UInt32(truncatingIfNeeded: count) &- dropped
    dropped &+= more
    if more > 0 { onDropped(Int(more)) }
  }

  func close() {
    lookForDropped()
    socket?.end()
    socket = nil
  }
}
