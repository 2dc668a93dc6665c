import Foundation
import Glibc

/// Warnings to the developer, on standard error. Apple's framework writes its own to the log.
///
/// A warning is one line, whatever names of peers are in it. It is dropped if standard error has no
/// room, because the loop of a radio must not wait for a reader.
///
/// A warning never ends the process: the call that caused it is ignored. Where Apple's framework
/// raises an exception, this module traps; the table "Misuse" in the documentation lists both.
enum Warning {
  /// Called with each warning; for tests.
  static let listener = Locked<(@Sendable (String) -> Void)?>(nil)

  static func log(_ text: String) {
    listener.value?(text)
    var room = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
    guard poll(&room, 1, 0) == 1 else { return }
    // A pipe with room takes this much.
    let line = Array("[CoreBluetooth] \(escaped(text))".utf8.prefix(Int(PIPE_BUF) - 1)) + [0x0A]
    _ = Glibc.write(STDERR_FILENO, line, line.count)
  }

  private static func escaped(_ text: String) -> String {
    var out = ""
    for scalar in text.unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator:
        out += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
      default: out.unicodeScalars.append(scalar)
      }
    }
    return out
  }
}
