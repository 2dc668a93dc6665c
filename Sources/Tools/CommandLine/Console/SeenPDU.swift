import Atto
import AttoATT
import CAttoLinux
import Glibc
import Synchronization

/// A captured PDU, as `atto capture` shows it.
package struct SeenPDU {
  /// Microseconds since 1970.
  let time: Int64
  let isSent: Bool
  /// The number of the enhanced bearer; 0 for the unenhanced one.
  var bearer = 0
  let octets: [UInt8]
  let text: String

  package init(time: Int64, isSent: Bool, bearer: Int = 0, octets: [UInt8], text: String) {
    (self.time, self.isSent, self.bearer, self.octets, self.text) = (
      time, isSent, bearer, octets, text
    )
  }

  /// Prints the time of day, a label, the direction (`>` is sent, `<` is received), and the PDU as in
  /// `--trace`.
  ///
  /// - Parameter json: the fields for the label.
  package func print(_ label: String, json fields: JSONObject, to results: Results) {
    let mark = (isSent ? ">" : "<") + (bearer > 0 ? "\(bearer)" : "")
    results.print(
      "\(TimeOfDay.text(time)) \(label) \(mark) \(Shown.pdu(octets))  \(text)",
      json: fields.adding([
        "bearer": bearer > 0 ? bearer : nil, "direction": isSent ? "sent" : "received",
        "pdu": Shown.hex(octets), "text": text,
        "time": Double(time) / 1e6,
      ]))
  }
}

/// Conversions from the loop's clock to the time of day.
package enum TimeOfDay {
  /// From this change of the offset on, in microseconds, the time of day was set. Below it the offset stays, so
  /// that PDUs keep their distances: the two clocks are never read at the same moment.
  private static let tolerance = 100_000
  private static let last = Atomic<Int64>(difference)

  /// Microseconds between the loop's clock and the time of day.
  private static var offset: Int64 {
    let (before, now) = (last.load(ordering: .relaxed), difference)
    guard (now - before).magnitude >= tolerance else { return before }
    last.store(now, ordering: .relaxed)
    return now
  }

  /// Microseconds since 1970 at an instant of the loop's clock.
  package static func microseconds(of moment: Instant) -> Int64 {
    moment.nanoseconds / 1000 + offset
  }

  /// Microseconds since 1970, now, by the same offset.
  package static var now: Int64 { clinux_monotonic() / 1000 + offset }

  /// `15:04:05.000000` in local time.
  package static func text(_ microseconds: Int64) -> String {
    var seconds = time_t(microseconds / 1_000_000)
    var parts = tm()
    localtime_r(&seconds, &parts)
    let fraction = Decimal.text(Double(microseconds % 1_000_000) / 1e6, places: 6).dropFirst()
    return [parts.tm_hour, parts.tm_min, parts.tm_sec].map {
      String($0).padded(left: 2, with: "0")
    }.joined(separator: ":") + fraction
  }

  private static var difference: Int64 { clinux_wall_offset() / 1000 }
}
