import FoundationEssentials
import Glibc
import Synchronization

/// Where results go: standard output for them, standard error for all else.
enum Terminal {
  /// The `errno` of the first write to standard output that failed; 0 if none has.
  private static let failure = Atomic<Int32>(0)
  /// What becomes readable when the command shall end (see ``Interruption``); negative if
  /// signals end it at once.
  static let interruption = Atomic<Int32>(-1)

  /// Whether the interruption was taken: nothing shows it any more.
  static let isInterrupted = Atomic<Bool>(false)
  /// Whether a line of progress stands on standard error.
  private static let hasProgress = Atomic<Bool>(false)
  /// Milliseconds that a reader gets after that for each line.
  private static let lastPatience: Int32 = 100

  /// Why standard output takes no more; nil if it does. EINTR: the command was interrupted while
  /// nobody read.
  static var outputFailure: Int32? {
    let errno = failure.load(ordering: .relaxed)
    return errno == 0 ? nil : errno
  }

  /// Puts /dev/null where a standard stream was closed. Otherwise the next descriptor that is
  /// opened, a link perhaps, would take its place and be written to.
  static func fillStandardStreams() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", O_RDWR)
    }
  }

  /// One line on standard output, written at once so that a reader in a pipe sees it.
  static func print(_ line: String) {
    clearProgress()
    guard outputFailure == nil, let errno = write(line + "\n", to: STDOUT_FILENO) else { return }
    let isFirst = failure.compareExchange(
      expected: 0, desired: errno, ordering: .relaxed
    ).exchanged
    // Results that nobody gets are not worth going on for: the command ends as at Ctrl-C.
    if isFirst, errno != EINTR, interruption.load(ordering: .relaxed) >= 0 {
      kill(getpid(), SIGTERM)
    }
  }

  /// One line on standard error.
  static func note(_ line: String) {
    clearProgress()
    _ = write(line + "\n", to: STDERR_FILENO)
  }

  /// Replaces the line that a terminal on standard error shows (see ``ProgressLine``).
  static func progress(_ text: String) {
    hasProgress.store(true, ordering: .relaxed)
    _ = write("\r\u{1B}[K" + text, to: STDERR_FILENO)
  }

  /// Whether that line stands there now.
  static var showsProgress: Bool { hasProgress.load(ordering: .relaxed) }

  /// Takes that line away, if there is one.
  static func clearProgress() {
    guard hasProgress.exchange(false, ordering: .relaxed) else { return }
    _ = write("\r\u{1B}[K", to: STDERR_FILENO)
  }

  /// One JSON object as a line on standard output, keys in order.
  static func print(json value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let line = try encoder.encode(value)
    print(String(decoding: line, as: UTF8.self))
  }

  /// Writes all of it; the `errno` if that failed.
  ///
  /// A reader that does not read holds us back, but not against an interruption, which the same
  /// thread takes: so it waits for both, and writes no more than a pipe with room takes at once.
  private static func write(_ text: String, to descriptor: Int32) -> Int32? {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      var waits = [
        pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0),
        pollfd(fd: interruption.load(ordering: .relaxed), events: Int16(POLLIN), revents: 0),
      ]
      let patience = isInterrupted.load(ordering: .relaxed) ? lastPatience : -1
      guard poll(&waits, 2, patience) >= 0 else { continue }
      if waits[0].revents == 0 { return EINTR }
      let count = rest.withUnsafeBytes {
        Glibc.write(descriptor, $0.baseAddress, min($0.count, Int(PIPE_BUF)))
      }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR, errno != EAGAIN {
        return errno
      }
    }
    return nil
  }
}
