import Glibc

/// A line on standard error, and which of them are written.
///
///     2026-11-21 09:23:15.123 error   com.example.app:radio: the link was lost
///
/// The time is the machine's local one. What would break a line or move a terminal's cursor is
/// written as an escape (`\n`, `\u{1B}`): a line is one line whatever a peer calls itself. One
/// write each, so that lines of threads and processes do not mix.
enum LogLine {
  /// Octets of a message; the rest of a longer one is cut, and counted.
  static let messageLimit = 16_384

  /// What matters less is not written. `OS_LOG`: debug, info, notice, error, fault or off; info
  /// without it.
  static let lowest: Int = {
    switch variable("OS_LOG") {
    case nil, "": return OSLogType.info.rank
    case "debug": return OSLogType.debug.rank
    case "info": return OSLogType.info.rank
    case "notice", "default": return OSLogType.default.rank
    case "error": return OSLogType.error.rank
    case "fault": return OSLogType.fault.rank
    case "off": return .max
    case let other?:
      put("OS_LOG is \"\(escaped(other))\"; debug, info, notice, error, fault or off is expected\n")
      return OSLogType.info.rank
    }
  }()

  /// Whether private values are shown: `OS_LOG_PRIVATE=show`.
  static let showsPrivate = variable("OS_LOG_PRIVATE") == "show"

  static func isWanted(_ type: OSLogType) -> Bool { type.rank >= lowest }

  static func write(_ type: OSLogType, _ subsystem: String, _ category: String, _ message: String) {
    put(text(type, subsystem, category, message, at: now()))
  }

  /// The line, with its end.
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
    // C0 and C1, line and paragraph separators, and marks that turn the direction of writing.
    case 0...0x1F, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }

  /// The time of day, to the millisecond.
  static func now() -> String {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    var parts = tm()
    localtime_r(&time.tv_sec, &parts)
    func digits(_ number: Int, _ count: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }
    let day = [(Int(parts.tm_year) + 1900, 4), (Int(parts.tm_mon) + 1, 2), (Int(parts.tm_mday), 2)]
    let hour = [(Int(parts.tm_hour), 2), (Int(parts.tm_min), 2), (Int(parts.tm_sec), 2)]
    return day.map(digits).joined(separator: "-") + " "
      + hour.map(digits).joined(separator: ":") + "." + digits(time.tv_nsec / 1_000_000, 3)
  }

  private static func put(_ line: String) {
    var line = line
    line.withUTF8 { octets in
      var written = 0
      while written < octets.count {
        let count = Glibc.write(
          STDERR_FILENO, octets.baseAddress! + written, octets.count - written)
        if count > 0 {
          written += count
        } else if errno != EINTR {
          // Nobody can be told.
          return
        }
      }
    }
  }

  private static func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }
}
