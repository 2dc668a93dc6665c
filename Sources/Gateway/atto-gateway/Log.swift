import AttoEventLoop
import AttoGateway
import AttoText
import Glibc
import Synchronization

/// Messages to standard error, or to the journal with their levels.
///
/// Writing may block, so a thread of its own does it. At most ``queueLimit`` messages wait for it; further
/// ones are dropped, and counted in the next one that is written.
final class Log: Sendable {
  static let queueLimit = 1024
  /// How long ``flush()`` waits for a reader.
  static let patience: Duration = .seconds(1)

  private let thread: Loop
  private let level: Atomic<Int>
  private let waiting = Atomic<Int>(0)
  private let dropped = Atomic<Int>(0)
  /// Whether standard error is the journal's, which reads `<3>` as a level.
  private let isJournal: Bool

  init(_ level: LogLevel) throws(LoopError) {
    self.level = Atomic(level.rawValue)
    isJournal = Self.writesToJournal
    thread = try Loop(name: "log")
    try thread.start()
  }

  func show(_ level: LogLevel) { self.level.store(level.rawValue, ordering: .relaxed) }

  /// Adds a message. On any thread; never blocks.
  func add(_ level: LogLevel, _ text: String) {
    guard level.rawValue <= self.level.load(ordering: .relaxed) else { return }
    guard waiting.load(ordering: .relaxed) < Self.queueLimit else {
      dropped.add(1, ordering: .relaxed)
      return
    }
    waiting.add(1, ordering: .relaxed)
    thread.execute { [self] in
      let missed = dropped.exchange(0, ordering: .relaxed)
      if missed > 0 { write(.warning, "\(missed) messages were dropped, because nobody read them") }
      write(level, text)
      waiting.subtract(1, ordering: .relaxed)
    }
  }

  private func write(_ level: LogLevel, _ text: String) {
    // The journal takes each line for a message; elsewhere a hint follows its message.
    for (index, line) in text.split(separator: "\n").enumerated() {
      let mark =
        isJournal
        ? "<\(level.rawValue)>" : index == 0 && level <= .warning ? "\(level): " : ""
      writeError(mark + String(line).printable + "\n")
    }
  }

  /// Waits until everything is written, or ``patience`` is over. Blocks.
  func flush() {
    let clock = ContinuousClock()
    let end = clock.now + Self.patience
    while waiting.load(ordering: .acquiring) > 0, clock.now < end { usleep(1000) }
  }

  /// systemd names the device and inode of the journal's stream.
  private static var writesToJournal: Bool {
    guard let text = environment("JOURNAL_STREAM") else { return false }
    var status = stat()
    return fstat(STDERR_FILENO, &status) == 0 && text == "\(status.st_dev):\(status.st_ino)"
  }
}

/// A variable of the environment; nil if it is missing or empty.
func environment(_ name: String) -> String? {
  guard let value = getenv(name) else { return nil }
  let text = String(cString: value)
  return text.isEmpty ? nil : text
}

/// Writes a text to standard error. Blocks while nobody reads it.
func writeError(_ text: String) {
  var octets = Array(text.utf8)[...]
  while !octets.isEmpty {
    let count = octets.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    if count > 0 {
      octets = octets.dropFirst(count)
    } else if count == 0 || errno != EINTR {
      return
    }
  }
}
