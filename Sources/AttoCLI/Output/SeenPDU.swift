import Atto
import Glibc

/// A PDU that went between others, as `atto capture` shows it.
struct SeenPDU {
  /// Microseconds since 1970.
  let time: Int64
  /// Which way it went: `>` and sent, or `<` and received.
  let isSent: Bool
  let octets: [UInt8]
  /// ATT_MTU, where it is known: what is longer is malformed.
  var mtu: Int = .max

  /// The time of day, the label, and the PDU as `--trace` has it.
  func text(_ label: String) -> String {
    let hex = octets.isEmpty ? "(empty)" : Shown.hex(octets)
    return "\(TimeOfDay.text(time)) \(label) \(isSent ? ">" : "<") \(hex)  \(summary)"
  }

  /// What it says.
  var summary: String { PDU(octets.span.bytes, mtu: mtu).summary }

  /// Seconds since 1970, for JSON.
  var seconds: Double { Double(time) / 1e6 }

  var direction: String { isSent ? "sent" : "received" }
}

/// Moments as people and files have them.
enum TimeOfDay {
  /// Microseconds from the loop's clock to the time of day.
  static let offset = microseconds(CLOCK_REALTIME) - microseconds(CLOCK_MONOTONIC)

  /// Microseconds since 1970 of a moment of the loop's clock.
  static func microseconds(of moment: Instant) -> Int64 { moment.nanoseconds / 1000 + offset }

  /// `15:04:05.000000`, where this machine is.
  static func text(_ microseconds: Int64) -> String {
    var seconds = time_t(microseconds / 1_000_000)
    var parts = tm()
    localtime_r(&seconds, &parts)
    let fraction = Decimal.text(Double(microseconds % 1_000_000) / 1e6, places: 6).dropFirst()
    return [parts.tm_hour, parts.tm_min, parts.tm_sec].map {
      ($0 < 10 ? "0" : "") + String($0)
    }.joined(separator: ":") + fraction
  }

  private static func microseconds(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
  }
}
