import Glibc

/// The format of log lines, and the levels that are written to standard error.
///
///     2026-11-21 09:23:15.123 error   com.example.app:radio: the link was lost
///
/// The time is local. Line breaks and characters that control a terminal are escaped (`\n`, `\u{1B}`),
/// since messages contain names of peers. Each line is one write, so that lines of threads and
/// processes do not mix.
enum LogLine {
  /// The longest message, in octets. Longer ones are truncated.
  static let messageLimit = 16_384

  /// The lowest level that is written. `OS_LOG` sets it: debug, info, notice, error, fault or off; the
  /// default is info.
  static let lowest: Int = {
    switch variable("OS_LOG") {
    case nil, "": return OSLogType.info.rank
    case "default": return OSLogType.default.rank
    case "off": return .max
    case let name?:
      if let level = OSLogType(name: name) { return level.rank }
      put(
        "invalid value \"\(escaped(name))\" for OS_LOG: expected debug, info, notice, error, fault or"
          + " off\n")
      return OSLogType.info.rank
    }
  }()

  /// Whether private values are shown: `OS_LOG_PRIVATE=show`.
  static let showsPrivate = variable("OS_LOG_PRIVATE") == "show"

  /// The line with its line feed.
  static func text(
    _ type: OSLogType, _ subsystem: String, _ category: String, _ message: String, at time: String
  ) -> String {
    let name = type.name + String(repeating: " ", count: 7 - type.name.utf8.count)
    let source = [subsystem, category].filter { !$0.isEmpty }.map(escaped).joined(separator: ":")
    return "\(time) \(name) \(source)\(source.isEmpty ? "" : ": ")\(cut(escaped(message)))\n"
  }

  private static func cut(_ text: String) -> String {
    let length = text.utf8.count
    guard length > messageLimit else { return text }
    return String(decoding: text.utf8.prefix(messageLimit), as: UTF8.self)
      + " ... (\(length - messageLimit) octets more)"
  }

  static func escaped(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isControl) else { return text }
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result.unicodeScalars.append(scalar)
      case _ where isControl(scalar):
        result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    // C0 and C1, line and paragraph separators, and marks of the writing direction.
    case 0...0x1F, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }

  /// The current date and time in milliseconds.
  static func now() -> String {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    var parts = tm()
    localtime_r(&time.tv_sec, &parts)
    let seconds = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32) { buffer in
      // Not optional, as newer headers of glibc declare it.
      guard let start = buffer.baseAddress,
        strftime(start, buffer.count, "%Y-%m-%d %H:%M:%S", &parts) > 0
      else { return "" }
      return String(cString: start)
    }
    let milliseconds = OSLogIntegerFormatting.decimal(minDigits: 3)
    return seconds + "." + milliseconds.text(time.tv_nsec / 1_000_000)
  }

  static func put(_ line: String) {
    var line = line
    line.withUTF8 { octets in
      var written = 0
      while written < octets.count {
        let count = Glibc.write(
          STDERR_FILENO, octets.baseAddress! + written, octets.count - written)
        if count > 0 {
          written += count
        } else if errno != EINTR {
          // There is no place left to report it.
          return
        }
      }
    }
  }

  private static func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }
}
