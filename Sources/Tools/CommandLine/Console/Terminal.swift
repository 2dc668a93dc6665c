import Atto
import AttoText
import CAttoLinux
import Glibc
import Synchronization

/// Standard output, for results, and standard error, for everything else.
///
/// A peer may have chosen parts of any text. So a text is one line, whatever is in it: line breaks and
/// other characters that are not printable are escaped (`String.printable`). Only
/// ``print(ownText:)`` keeps line breaks.
///
/// Threads write the lines (``OutputQueue``), so that printing never waits for a reader.
package enum Terminal {
  /// The descriptor that becomes readable when the command is interrupted (see ``Interruption``);
  /// negative if signals end the process directly.
  static let interruption = Atomic<Int32>(-1)
  /// Whether the command was interrupted. The descriptor is not readable any more then.
  static let isInterrupted = Atomic<Bool>(false)
  private static let delivery = Atomic<Int>(Delivery.complete.rawValue)
  /// Whether standard error shows a line of progress.
  private static let hasProgress = Atomic<Bool>(false)

  static let output = OutputQueue(
    open: { STDOUT_FILENO },
    onDropped: { note("\(Shown.count($0, "line")) lost: nobody reads standard output") },
    onFailure: { outputFailed($0) })
  /// The same queue if both are the same file, so that lines keep their order.
  static let errors =
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
  package static func begin() throws(FileError) {
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
  package static func setDelivery(_ new: Delivery) {
    delivery.store(new.rawValue, ordering: .relaxed)
  }

  static var currentDelivery: Delivery {
    Delivery(rawValue: delivery.load(ordering: .relaxed)) ?? .complete
  }

  // MARK: Lines

  /// Prints lines on standard output.
  ///
  /// - Parameter delivery: what becomes of them, if not what was set for all.
  package static func print(_ lines: String..., delivery: Delivery? = nil) {
    let delivery = delivery ?? currentDelivery
    put(lines, as: .result, on: output, mayDrop: delivery == .live || delivery == .log)
  }

  /// Prints a text on standard output that has line breaks of its own, and nothing in it that a peer
  /// has named.
  package static func print(ownText text: String) {
    for line in lines(of: text) { print(line) }
  }

  /// Prints help on standard output, with its headings in colour.
  package static func print(help text: String) {
    put(lines(of: text), as: .help, on: output, mayDrop: false)
  }

  /// Prints lines on standard error. They are dropped and counted while nobody reads it.
  package static func note(_ lines: String...) { put(lines, as: .note, on: errors, mayDrop: true) }

  /// Prints the hints for an error on standard error.
  package static func note(hintsFor error: any Error) {
    for hint in ExitStatus(error).hints { note("hint: \(hint)") }
  }

  /// Prints a JSON object as a line on standard output.
  package static func print(json object: JSONObject, delivery: Delivery? = nil) {
    // Encoding texts and numbers does not fail.
    if let line = try? encoded(object) { print(line, delivery: delivery) }
  }

  /// Prints a value in JSON as a line on standard output, with sorted keys.
  package static func print(encoded value: some Encodable) throws { print(try encoded(value)) }

  static func encoded(_ value: some Encodable) throws -> String {
    try JSON(encoding: value).text
  }

  static func put(_ lines: [String], as style: Style, on queue: OutputQueue, mayDrop: Bool) {
    // Results in a file leave the line of progress where it is.
    if queue === errors || isOutputTerminal { clearProgress() }
    let isColorful = style == .help ? isOutputColorful : areErrorsColorful
    for line in lines {
      let text = isColorful ? style.apply(to: line.printable) : line.printable
      queue.append(Array((text + "\n").utf8), mayDrop: mayDrop)
    }
  }

  private static let eraseLine = Array("\r\u{1B}[K".utf8)

  /// Keeps a prompt below the lines on terminals; nil: no more. Returns whether there was one.
  @discardableResult package static func showPrompt(_ new: OutputQueue.Prompt?) -> Bool {
    if isOutputTerminal { output.prompt.withLock { $0 = new } }
    if isatty(STDERR_FILENO) == 1 { errors.prompt.withLock { $0 = new } }
    return hasPrompt.exchange(new != nil, ordering: .relaxed)
  }

  private static let hasPrompt = Atomic<Bool>(false)

  /// Whether standard output is a terminal.
  package static let isOutputTerminal = isatty(STDOUT_FILENO) == 1
  private static let isOutputColorful = Style.isColorful(STDOUT_FILENO)
  private static let areErrorsColorful = Style.isColorful(STDERR_FILENO)

  package static func lines(of text: String) -> [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  // MARK: Progress

  /// Replaces the line of progress (see ``ProgressLine``), unless earlier output is still pending.
  static func progress(_ text: String) {
    guard errors.bytes == 0, !hasPrompt.load(ordering: .relaxed) else { return }
    hasProgress.store(true, ordering: .relaxed)
    errors.append(eraseLine + Array(text.printable.utf8), mayDrop: true)
  }

  static var showsProgress: Bool { hasProgress.load(ordering: .relaxed) }

  static func clearProgress() {
    guard hasProgress.exchange(false, ordering: .relaxed) else { return }
    errors.append(eraseLine, mayDrop: false)
  }

  // MARK: Back-pressure

  /// Whether so much of standard output is pending that no more should be made.
  package static var isFull: Bool { output.bytes >= OutputQueue.capacity }

  /// Waits while ``isFull``. The end of the task ends the wait.
  package static func room() async {
    guard isFull else { return }
    let (stream, continuation) = AsyncStream<Void>.makeStream()
    whenRoom { continuation.finish() }
    for await _ in stream {}
  }

  /// Waits until all lines so far are written. The end of the task ends the wait.
  package static func written() async {
    let (stream, continuation) = AsyncStream<Void>.makeStream()
    output.whenBelow(0) { continuation.finish() }
    for await _ in stream {}
  }

  /// Calls a body on some thread, once, when there is room on standard output.
  package static func whenRoom(_ body: @escaping @Sendable () -> Void) {
    output.whenBelow(OutputQueue.capacity / 2, body)
  }

  /// Writes octets to standard output as they are.
  package static func write(_ octets: [UInt8]) { output.append(octets, mayDrop: false) }
}
