import FoundationEssentials
import Glibc

/// Where results go: standard output for them, standard error for all else.
enum Terminal {
  /// One line on standard output, written at once so that a reader in a pipe sees it.
  static func print(_ line: String) { write(line + "\n", to: STDOUT_FILENO) }

  /// One line on standard error.
  static func note(_ line: String) { write(line + "\n", to: STDERR_FILENO) }

  /// One JSON object as a line on standard output, keys in order.
  static func print(json value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let line = try encoder.encode(value)
    print(String(decoding: line, as: UTF8.self))
  }

  /// Writes all of it. A reader that has gone ends the command, as it does any other in a pipe.
  private static func write(_ text: String, to descriptor: Int32) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&wait, 1, -1)
      } else if errno != EINTR {
        return
      }
    }
  }
}
