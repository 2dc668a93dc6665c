import Atto
import AttoLinkTiming

package enum CommonOptions {
  package static let json = Option.flag("json", "Print one JSON object per line.")
  package static let quiet = Option.flag("quiet", "Show no progress.")
  package static let trace = Option.flag("trace", "Print each PDU, decoded, on standard error.")
  package static let capture = Option.text(
    "capture", "FILE",
    "Write the PDUs to FILE, which ends in .btsnoop or .pcapng and which only you can read.",
    kind: .file)
  package static let mtu = Option.integer(
    "mtu", "N", in: 23...65535, "Exchange the MTU first, offering N (23 to 65535).")
  package static let timeout = Option.seconds(
    "timeout", "How long to wait for the connection, and for each response (default: 30).")
  package static let sendBuffer = Option.integer(
    "send-buffer", "N", in: 1...1 << 30,
    "Limit the kernel's send buffer to N bytes. A small buffer reduces latency: 4096 holds about 10"
      + " PDUs instead of 220.")
  package static let interval = Option.value(
    "interval", "TIME[-TIME]",
    "Ask for a connection interval in this range, such as 15ms or 15ms-30ms.",
    expected: ConnectionInterval.expectation
  ) { ConnectionInterval($0) }
  package static let latency = Option.integer(
    "latency", "N", in: 0...499,
    "Let the peripheral of an le: link skip N connection events, 0 to 499.")
  package static let supervision = Option.value(
    "supervision", "TIME",
    "Let an le: link end after this time without a packet, 100ms to 32s (Linux's default: 420ms, which loses some weak"
      + " links).", expected: "a time from 100ms to 32s in steps of 10 ms, such as 2s"
  ) { text in
    LinkParameters.nanoseconds(text).flatMap { time in
      let units = time / 10_000_000
      return (10...3200).contains(units) && time % 10_000_000 == 0 ? UInt16(units) : nil
    }
  }
  package static let phy = Option.choice(
    "phy", "PHY",
    ["1M": LinkPHY.Kind.oneMegabit, "2M": .twoMegabit, "coded": .coded],
    "Ask for this PHY of an le: link: 1M, 2M or coded (Linux 7.3).")
  package static let bearers = Option.integer(
    "bearers", "N", in: 0...ConnectionOptions.maximumEnhancedBearers,
    "Use up to N enhanced bearers (EATT) beside the unenhanced one, 0 to 5 (default: 0).")
  package static let linkInfo = Option.flag(
    "link-info", "Print the bearers, and the kernel's parameters of an le: link, on standard error."
  )

  /// The security of a link that a command opens or accepts.
  package static let security = Option.choice(
    "security", "LEVEL", SecurityRequest.levels, "Raise the link to this security level.")
  /// The same, and pairing when the peer demands it.
  package static let securityOnDemand = Option.choice(
    "security", "LEVEL",
    SecurityRequest.levels + [("auto", .onDemand), ("stated", .stated)],
    "Raise the link to this security level; auto raises it when the peer asks for it, stated to the level in its"
      + " LE GATT Security Levels.")

  /// The total time, which every command has (see ``CommandDescription``).
  package static let maxTime = maxTimeOption(.standard)

  static func maxTimeOption(_ limit: TimeLimit) -> Option<Duration?> {
    .seconds(
      "max-time",
      "End after this time, whatever is in progress"
        + (limit.isAlwaysOpen ? "" : ": status 3") + " (default: \(limit.text)).")
  }

  static let title = "common options"
  package static let connecting = OptionGroup(
    title,
    [
      mtu, timeout, securityOnDemand, interval, latency, supervision, phy, bearers, sendBuffer,
      linkInfo, json,
      capture, trace,
    ])
}

/// The value of `--security`.
package enum SecurityRequest: Sendable {
  case level(SecurityLevel)
  /// Raise it when the peer refuses a request.
  case onDemand
  /// Raise it to what the peer states, before the first request.
  case stated

  package static var levels: [(word: String, value: SecurityRequest)] {
    [
      ("low", .level(.low)), ("medium", .level(.medium)), ("high", .level(.high)),
      ("fips", .level(.fips)),
    ]
  }

  /// The level to raise the link to at once.
  package var level: SecurityLevel { if case .level(let level) = self { level } else { .low } }
}
