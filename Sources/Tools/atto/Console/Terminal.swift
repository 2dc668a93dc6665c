import Atto
import CAttoLinux
import FoundationEssentials
import Glibc
import Synchronization

/// Standard output, for results, and standard error, for everything else.
///
/// A peer may have chosen parts of any text. So a text is one line, whatever is in it: line breaks and
/// other characters that are not printable are escaped (`String.printable`). Only
/// ``print(ownText:)`` keeps line breaks.
///
/// Threads write the lines (``OutputQueue``), so that printing never waits for a reader.
enum Terminal {
  /// The descriptor that becomes readable when the command is interrupted (see ``Interruption``);
  /// negative if signals end the process directly.
  static let interruption = Atomic<Int32>(-1)
  /// Whether the command was interrupted. The descriptor is not readable any more then.
  static let isInterrupted = Atomic<Bool>(false)
  /// How long an interrupted command still waits for readers, in nanoseconds.
  static let grace: Int64 = 1_000_000_000
  /// The same for the reader of standard error, which is told what is lost.
  private static let lastGrace: Int64 = 100_000_000

  /// Whether a file could not be written.
  private static let hasFailed = Atomic<Bool>(false)
  private static let delivery = Atomic<Int>(Delivery.complete.rawValue)
  /// Whether standard error shows a line of progress.
  private static let hasProgress = Atomic<Bool>(false)

  private static let output = OutputQueue(
    open: { STDOUT_FILENO },
    onDropped: { note("\(Shown.count($0, "line")) lost: nobody reads standard output") },
    onFailure: { outputFailed($0) })
  /// The same queue if both are the same file, so that lines keep their order.
  private static let errors =
    isOneFile
    ? output
    : OutputQueue(
      open: { STDERR_FILENO },
      onDropped: { note("\(Shown.count($0, "line")) lost: nobody reads standard error") },
      onFailure: { _ in })

  private static var isOneFile: Bool {
    var (one, other) = (stat(), stat())
    return fstat(STDOUT_FILENO, &one) == 0 && fstat(STDERR_FILENO, &other) == 0
      && one.st_dev == other.st_dev && one.st_ino == other.st_ino
  }

  /// Opens /dev/null in place of closed standard streams. Otherwise the next descriptor, perhaps of a
  /// link, would become standard output.
  ///
  /// - Throws: `FileError` if standard output cannot be written to.
  static func begin() throws(FileError) {
    let flags = fcntl(STDOUT_FILENO, F_GETFL)
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", O_RDWR)
    }
    guard flags < 0 || flags & O_ACCMODE == O_RDONLY else { return }
    throw FileError(
      message: "standard output is " + (flags < 0 ? "closed" : "not open for writing"),
      hint: "> /dev/null discards the results")
  }

  /// Sets what becomes of lines that are not read; the default is ``Delivery/complete``.
  static func setDelivery(_ new: Delivery) { delivery.store(new.rawValue, ordering: .relaxed) }

  private static var currentDelivery: Delivery {
    Delivery(rawValue: delivery.load(ordering: .relaxed)) ?? .complete
  }

  // MARK: Lines

  /// Prints lines on standard output.
  static func print(_ lines: String...) {
    let delivery = currentDelivery
    put(lines, on: output, mayDrop: delivery == .live || delivery == .log)
  }

  /// Prints a text on standard output that has line breaks of its own, and nothing in it that a peer
  /// has named.
  static func print(ownText text: String) {
    for line in lines(of: text) { print(line) }
  }

  /// Prints lines on standard error. They are dropped and counted while nobody reads it.
  static func note(_ lines: String...) { put(lines, on: errors, mayDrop: true) }

  /// Prints on standard error why a command failed.
  static func note(_ command: String, failed status: ExitStatus, usage: String? = nil) {
    put(["\(command): \(status.message)"], on: errors, mayDrop: false)
    put(status.hints.map { "hint: \($0)" }, on: errors, mayDrop: false)
    if let usage { put(lines(of: usage), on: errors, mayDrop: false) }
  }

  /// Prints the hints for an error on standard error.
  static func note(hintsFor error: any Error) {
    for hint in ExitStatus(error).hints { note("hint: \(hint)") }
  }

  /// Prints a JSON object as a line on standard output.
  static func print(json object: JSONObject) {
    // Encoding strings and finite numbers does not fail.
    try? print(encoded: object)
  }

  /// Prints a value in JSON as a line on standard output, with sorted keys.
  static func print(encoded value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    print(String(decoding: try encoder.encode(value), as: UTF8.self).printableJSON)
  }

  private static func put(_ lines: [String], on queue: OutputQueue, mayDrop: Bool) {
    clearProgress()
    for line in lines { queue.append(Array((line.printable + "\n").utf8), mayDrop: mayDrop) }
  }

  static func lines(of text: String) -> [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  // MARK: Progress

  /// Replaces the line of progress (see ``ProgressLine``), unless earlier output is still pending.
  static func progress(_ text: String) {
    guard errors.bytes == 0 else { return }
    hasProgress.store(true, ordering: .relaxed)
    errors.append(Array(("\r\u{1B}[K" + text.printable).utf8), mayDrop: true)
  }

  static var showsProgress: Bool { hasProgress.load(ordering: .relaxed) }

  static func clearProgress() {
    guard hasProgress.exchange(false, ordering: .relaxed) else { return }
    errors.append(Array("\r\u{1B}[K".utf8), mayDrop: false)
  }

  // MARK: Back-pressure

  /// Whether so much of standard output is pending that no more should be made.
  static var isFull: Bool { output.bytes >= OutputQueue.capacity }

  /// Waits while ``isFull``. The end of the task ends the wait.
  static func room() async {
    guard isFull else { return }
    let (stream, continuation) = AsyncStream<Void>.makeStream()
    whenRoom { continuation.finish() }
    for await _ in stream {}
  }

  /// Calls a body on some thread, once, when there is room on standard output.
  static func whenRoom(_ body: @escaping @Sendable () -> Void) {
    output.whenBelow(OutputQueue.capacity / 2, body)
  }

  /// Writes octets to standard output as they are.
  static func write(_ octets: [UInt8]) { output.append(octets, mayDrop: false) }
}

// MARK: - The end

extension Terminal {
  /// The error of the first failed write to standard output; nil if none failed.
  static var outputFailure: Int32? { output.failure }

  /// Reports that a file could not be written completely: exit status 2.
  static func failed(_ message: String) {
    hasFailed.store(true, ordering: .relaxed)
    note("atto: \(message)")
  }

  private static func outputFailed(_ errno: Int32) {
    if errno == EPIPE, currentDelivery == .log {
      return note(
        "warning: nobody reads standard output any more: events are not printed from now on")
    }
    // The command ends as if interrupted.
    if interruption.load(ordering: .relaxed) >= 0 { kill(getpid(), SIGTERM) }
  }

  /// Waits until everything is written: as long as the readers take, but if the command is interrupted
  /// only for ``grace``. Reports what is lost. Returns the exit status.
  ///
  /// - Parameter command: the name in messages.
  static func finish(_ status: Int32, of command: String) -> Int32 {
    clearProgress()
    var end = isInterrupted.load(ordering: .relaxed) ? clinux_monotonic() + grace : nil
    let wasInterrupted = end != nil
    let queues = OutputQueue.all.filter { $0 !== errors || errors === output }
    drain(queues, &end)
    var isCut = false
    for queue in queues where queue.giveUp() { isCut = isCut || queue === output }
    var status = status
    if let errno = outputFailure, errno != EPIPE || currentDelivery == .transfer {
      let why = String(cString: strerror(errno))
      note("\(command): cannot write to standard output: \(why)")
      status = 2
    } else if outputFailure != nil {
      status = currentDelivery == .log ? status : 0
    } else if isCut, !wasInterrupted, status == 0 {
      status = 3
    }
    if status == 0, hasFailed.load(ordering: .relaxed) { status = 2 }
    if end != nil { end = clinux_monotonic() + lastGrace }
    drain([errors], &end)
    return status
  }

  /// - Parameter end: when to give up; nil: not before an interruption, which sets it.
  private static func drain(_ queues: [OutputQueue], _ end: inout Int64?) {
    let written = clinux_eventfd()
    for queue in queues { queue.whenBelow(0) { clinux_eventfd_signal(written) } }
    while queues.contains(where: { $0.bytes > 0 }) {
      var waits = [
        pollfd(fd: written, events: Int16(POLLIN), revents: 0),
        pollfd(fd: interruption.load(ordering: .relaxed), events: Int16(POLLIN), revents: 0),
      ]
      let left = end.map { Int32(max(0, $0 - clinux_monotonic()) / 1_000_000) }
      // Without the eventfd, the process has no descriptor left.
      let count = poll(&waits, 2, left ?? (written < 0 ? 10 : -1))
      if count == 0, left != nil { return }
      var number: UInt64 = 0
      if waits[0].revents != 0 { read(written, &number, MemoryLayout.size(ofValue: number)) }
      if waits[1].revents != 0, clinux_signalfd_read(waits[1].fd) != 0 {
        if isInterrupted.exchange(true, ordering: .relaxed) { return }
        end = clinux_monotonic() + grace
      }
    }
  }
}
