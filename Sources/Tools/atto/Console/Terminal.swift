import FoundationEssentials
import Glibc
import Synchronization

/// Standard output, for results, and standard error, for everything else.
enum Terminal {
  /// The `errno` of the first write to standard output that failed; 0 if none has.
  private static let failure = Atomic<Int32>(0)
  /// The descriptor that becomes readable when the command is interrupted (see ``Interruption``);
  /// negative if signals end the process directly.
  static let interruption = Atomic<Int32>(-1)

  /// Whether the command was interrupted. The descriptor is not readable any more then.
  static let isInterrupted = Atomic<Bool>(false)
  /// Whether standard error shows a line of progress.
  private static let hasProgress = Atomic<Bool>(false)
  /// Milliseconds to wait for a slow reader, for each line after the interruption.
  private static let lastWriteTimeout: Int32 = 100

  /// The error of the first failed write to standard output; nil if none failed. EINTR: the command
  /// was interrupted while the reader did not read.
  static var outputFailure: Int32? {
    let errno = failure.load(ordering: .relaxed)
    return errno == 0 ? nil : errno
  }

  /// Opens /dev/null in place of closed standard streams. Otherwise the next descriptor, perhaps of a
  /// link, would become standard output.
  static func fillStandardStreams() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", O_RDWR)
    }
  }

  /// Prints a line on standard output, without buffering.
  static func print(_ line: String) {
    clearProgress()
    guard outputFailure == nil, let errno = write(line + "\n", to: STDOUT_FILENO) else { return }
    let isFirst = failure.compareExchange(expected: 0, desired: errno, ordering: .relaxed).exchanged
    // Without a reader the command ends as if interrupted.
    if isFirst, errno != EINTR, interruption.load(ordering: .relaxed) >= 0 {
      kill(getpid(), SIGTERM)
    }
  }

  static func note(_ line: String) {
    clearProgress()
    _ = write(line + "\n", to: STDERR_FILENO)
  }

  /// Prints the hints for an error on standard error.
  static func note(hintsFor error: any Error) {
    for hint in ExitStatus(error).hints { note("hint: \(hint)") }
  }

  /// Replaces the line of progress (see ``ProgressLine``).
  static func progress(_ text: String) {
    hasProgress.store(true, ordering: .relaxed)
    _ = write("\r\u{1B}[K" + text, to: STDERR_FILENO)
  }

  static var showsProgress: Bool { hasProgress.load(ordering: .relaxed) }

  static func clearProgress() {
    guard hasProgress.exchange(false, ordering: .relaxed) else { return }
    _ = write("\r\u{1B}[K", to: STDERR_FILENO)
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
    print(String(decoding: try encoder.encode(value), as: UTF8.self))
  }

  /// Writes a text. Returns the `errno` of a failure.
  ///
  /// It waits for a slow reader and for the interruption, which this thread handles too. Each write is
  /// short enough not to block on a pipe with room.
  private static func write(_ text: String, to descriptor: Int32) -> Int32? {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      var waits = [
        pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0),
        pollfd(fd: interruption.load(ordering: .relaxed), events: Int16(POLLIN), revents: 0),
      ]
      let timeout = isInterrupted.load(ordering: .relaxed) ? lastWriteTimeout : -1
      guard poll(&waits, 2, timeout) >= 0 else { continue }
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
