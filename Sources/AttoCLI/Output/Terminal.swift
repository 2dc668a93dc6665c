import FoundationEssentials
import Glibc
import Synchronization

/// Where results go: standard output for them, standard error for all else.
enum Terminal {
  /// The `errno` of the first write to standard output that failed; 0 if none has.
  private static let failure = Atomic<Int32>(0)
  /// Whether ``Interruption`` turns SIGTERM into the command's orderly end.
  static let isInterruptible = Atomic<Bool>(false)

  /// Why standard output takes no more; nil if it does.
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
    guard outputFailure == nil, let errno = write(line + "\n", to: STDOUT_FILENO) else { return }
    let isFirst = failure.compareExchange(
      expected: 0, desired: errno, ordering: .relaxed).exchanged
    // Results that nobody gets are not worth going on for: the command ends as at Ctrl-C.
    if isFirst, isInterruptible.load(ordering: .relaxed) { kill(getpid(), SIGTERM) }
  }

  /// One line on standard error.
  static func note(_ line: String) { _ = write(line + "\n", to: STDERR_FILENO) }

  /// One JSON object as a line on standard output, keys in order.
  static func print(json value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let line = try encoder.encode(value)
    print(String(decoding: line, as: UTF8.self))
  }

  /// Writes all of it; the `errno` if that failed.
  private static func write(_ text: String, to descriptor: Int32) -> Int32? {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&wait, 1, -1)
      } else if errno != EINTR {
        return errno
      }
    }
    return nil
  }
}
