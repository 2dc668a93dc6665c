import CAttoLinux
import Glibc
import Synchronization

/// A descriptor that a thread writes to, so that no loop waits for a reader, a terminal or a disk.
///
/// It takes pieces (lines, records) and writes each one whole and in order. While more than
/// ``capacity`` bytes are pending, pieces that may be dropped are dropped and counted, until half of
/// them are written. Pieces that may not be dropped are always taken; who makes many of them waits with
/// ``whenBelow(_:_:)``.
///
/// It exists until the process ends, which waits for it (``Terminal/finish(_:of:)``). Its thread starts with
/// the first piece, unless ``usesThreads`` is unset: then the end of the process writes the pieces.
package final class OutputQueue: Sendable {
  /// Pending bytes, with ``overhead`` for each piece.
  static let capacity = 1 << 20
  private static let overhead = 64

  /// The stack of the thread in bytes: address space counts where a process has little.
  private static let stack = 512 << 10

  /// What a terminal shows below the pieces. Nothing else writes there between the two calls.
  package struct Prompt: Sendable {
    let hide: @Sendable () -> [UInt8]
    let show: @Sendable () -> Void

    /// - Parameters:
    ///   - hide: returns what erases the prompt.
    ///   - show: shows it again, at once or later.
    package init(hide: @escaping @Sendable () -> [UInt8], show: @escaping @Sendable () -> Void) {
      (self.hide, self.show) = (hide, show)
    }
  }

  let prompt = Mutex<Prompt?>(nil)

  /// Unset while no loop runs, which must not wait for a reader.
  package static let usesThreads = Atomic<Bool>(true)

  /// The queues of this process.
  static var all: [OutputQueue] { created.withLock { $0 } }
  private static let created = Mutex<[OutputQueue]>([])

  private struct State {
    var hasThread = false
    var pieces: [[UInt8]] = []
    var pending = 0
    var bytes = 0
    var isDropping = false
    var dropped = 0
    var failure: Int32 = 0
    var waits: [(bytes: Int, body: @Sendable () -> Void)] = []

    mutating func dequeueWaits() -> [@Sendable () -> Void] {
      guard !waits.isEmpty else { return [] }
      let ready = waits.filter { bytes <= $0.bytes }.map(\.body)
      waits.removeAll { bytes <= $0.bytes }
      return ready
    }
  }

  private let state = Mutex(State())
  /// An eventfd that wakes the thread.
  private let wake: Int32
  /// What `open` returned; -1 before.
  private let descriptor = Atomic<Int32>(-1)
  private let open: @Sendable () -> Int32
  private let onDropped: @Sendable (Int) -> Void
  private let onFailure: @Sendable (Int32) -> Void
  /// Whether a pipe without a reader fails at once, rather than when there is something to write.
  private let watchesReader: Bool

  /// - Parameters:
  ///   - open: called on the thread before the first piece is written; returns the descriptor or
  ///     -errno. It may block.
  ///   - onDropped: called on the thread with the number of dropped pieces when there is room again.
  ///   - onFailure: called on the thread with the first `errno`. All further pieces are discarded.
  ///   - watchesReader: whether a pipe without a reader fails at once.
  package init(
    open: @escaping @Sendable () -> Int32, onDropped: @escaping @Sendable (Int) -> Void,
    onFailure: @escaping @Sendable (Int32) -> Void, watchesReader: Bool = false
  ) {
    self.watchesReader = watchesReader
    self.open = open
    self.onDropped = onDropped
    self.onFailure = onFailure
    wake = clinux_eventfd()
    Self.created.withLock { $0.append(self) }
  }

  /// Returns whether the thread has started.
  private func start() -> Bool {
    guard wake >= 0 else { return false }
    let context = Unmanaged.passRetained(self)
    let result = clinux_thread_start(
      { context in
        clinux_thread_name("output")
        Unmanaged<OutputQueue>.fromOpaque(context!).takeRetainedValue().run()
        return nil
      }, context.toOpaque(), Self.stack)
    if result != 0 { Unmanaged<OutputQueue>.passUnretained(self).release() }
    return result == 0
  }

  /// The `errno` of the failed write; nil if none failed.
  var failure: Int32? { state.withLock { $0.failure == 0 ? nil : $0.failure } }

  /// Bytes that are not written.
  var bytes: Int { state.withLock { $0.bytes } }

  /// Reports as dropped what is not written, at the end. Returns whether there was anything.
  func giveUp() -> Bool {
    let lost = state.withLock { $0.pending + $0.dropped }
    if lost > 0 { onDropped(lost) }
    return lost > 0
  }

  /// Adds a piece. Returns false if it was dropped. A process that cannot have the thread writes it, and
  /// may block.
  @discardableResult package func append(_ piece: [UInt8], mayDrop: Bool) -> Bool {
    let usesThreads = Self.usesThreads.load(ordering: .relaxed)
    let (isTaken, isFirst, hasThread) = state.withLock { state in
      if usesThreads, !state.hasThread { state.hasThread = start() }
      guard state.failure == 0 else { return (true, false, state.hasThread) }
      if mayDrop, state.isDropping || state.bytes >= Self.capacity {
        state.isDropping = true
        state.dropped += 1
        return (false, false, state.hasThread)
      }
      state.bytes += piece.count + Self.overhead
      state.pending += 1
      state.pieces.append(piece)
      return (true, state.pieces.count == 1, state.hasThread)
    }
    if usesThreads, !hasThread {
      writePieces()
    } else if hasThread, isFirst {
      clinux_eventfd_signal(wake)
    }
    return isTaken
  }

  /// Writes the pieces if there is no thread that does.
  func writeWithoutThread() {
    if !state.withLock({ $0.hasThread }) { writePieces() }
  }

  /// Calls a body once when at most this many bytes are pending, or writing has failed: now, or later
  /// on the thread.
  func whenBelow(_ bytes: Int, _ body: @escaping @Sendable () -> Void) {
    let isNow = state.withLock { state in
      if state.bytes <= bytes { return true }
      state.waits.append((bytes, body))
      return false
    }
    if isNow { body() }
  }

  // MARK: The thread

  private func run() {
    while failure == nil {
      if !writePieces() { wait() }
    }
  }

  /// Writes all pieces. Returns false if there are none.
  @discardableResult private func writePieces() -> Bool {
    let pieces = state.withLock { state in
      let pieces = state.pieces
      state.pieces = []
      return pieces
    }
    guard !pieces.isEmpty else { return false }
    if descriptor.load(ordering: .relaxed) < 0 { descriptor.store(open(), ordering: .relaxed) }
    let descriptor = descriptor.load(ordering: .relaxed)
    if let errno = descriptor < 0 ? -descriptor : write(pieces, to: descriptor) { fail(errno) }
    return true
  }

  private func wait() {
    // A negative descriptor is ignored.
    let reader = watchesReader ? descriptor.load(ordering: .relaxed) : -1
    var waits = [
      pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
      pollfd(fd: reader, events: 0, revents: 0),
    ]
    poll(&waits, 2, -1)
    if waits[0].revents != 0 {
      var count: UInt64 = 0
      _ = read(wake, &count, MemoryLayout.size(ofValue: count))
    } else if waits[1].revents & Int16(POLLERR) != 0 {
      fail(EPIPE)
    }
  }

  /// Writes pieces, as many at a time as a pipe takes whole. Returns the `errno` of a failure.
  private func write(_ pieces: [[UInt8]], to descriptor: Int32) -> Int32? {
    var rest = pieces[...]
    while var octets = rest.popFirst() {
      var count = 1
      while let next = rest.first, octets.count + next.count <= Int(PIPE_BUF) {
        octets += next
        rest.removeFirst()
        count += 1
      }
      let prompt = prompt.withLock { $0 }
      let erasing = prompt?.hide() ?? []
      let errno = Self.write(erasing + octets, to: descriptor)
      prompt?.show()
      if let errno { return errno }
      written(octets.count, in: count)
    }
    return nil
  }

  /// Each write is short enough not to block on a pipe with room.
  private static func write(_ octets: [UInt8], to descriptor: Int32) -> Int32? {
    var rest = octets[...]
    while !rest.isEmpty {
      var waits = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      guard poll(&waits, 1, -1) >= 0 else { continue }
      let count = rest.withUnsafeBytes {
        Glibc.write(descriptor, $0.baseAddress, min($0.count, Int(PIPE_BUF)))
      }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR, errno != EAGAIN {
        let failure = errno
        // A file of this command's own, such as a capture, keeps whole pieces.
        if rest.count < octets.count, descriptor > STDERR_FILENO {
          let end = lseek(descriptor, 0, SEEK_CUR)
          let written = off_t(octets.count - rest.count)
          if end >= written { _ = ftruncate(descriptor, end - written) }
        }
        return failure
      }
    }
    return nil
  }

  private func written(_ bytes: Int, in pieces: Int) {
    let (dropped, ready) = state.withLock { state in
      state.pending -= pieces
      state.bytes -= bytes + pieces * Self.overhead
      var dropped = 0
      if state.isDropping, state.bytes <= Self.capacity / 2 {
        state.isDropping = false
        swap(&dropped, &state.dropped)
      }
      return (dropped, state.dequeueWaits())
    }
    if dropped > 0 { onDropped(dropped) }
    for body in ready { body() }
  }

  private func fail(_ errno: Int32) {
    state.withLock { $0.failure = errno }
    // The end of the command waits for the pending bytes, and so for the report.
    onFailure(errno)
    let ready = state.withLock { state in
      state.pieces = []
      (state.bytes, state.pending) = (0, 0)
      return state.dequeueWaits()
    }
    for body in ready { body() }
  }
}
