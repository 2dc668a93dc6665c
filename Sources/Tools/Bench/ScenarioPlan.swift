import Atto
import AttoCommandLine
import AttoRadio

/// What a scenario sends or awaits, and over which carrier.
package struct ScenarioPlan: Sendable {
  /// As in `bumble-bench`.
  enum Scenario: String, CaseIterable, Sendable {
    case send, receive, ping, pong

    var workload: Workload {
      switch self {
      case .send: Workload(rawValue, .here, .acceptance, as: .writeCommand)
      case .receive: Workload(rawValue, .peer, .interval, as: .notify)
      case .ping: Workload(rawValue, .here, .roundTrip, as: .write)
      case .pong: Workload(rawValue, .peer, .interval, as: .notify)
      }
    }

    /// Whether this end sends the numbered values.
    var sends: Bool { self == .send || self == .ping }
  }

  /// What carries the packets.
  package enum Carrier: String, CaseIterable, Sendable {
    case gatt, channel
  }

  let scenario: Scenario
  package let workload: Workload
  let carrier: Carrier
  let listens: Bool
  /// Without it, the default of `bumble-bench` to connect to, and any to listen on.
  let psm: UInt16?
  let startDelay: Duration
  let repeats: Int
  let repeatDelay: Duration
  package let lingers: Bool
  let isAcknowledged: Bool
  /// Whether the stages of each latency are measured.
  let showsStages: Bool
  var staged: StagedOperation { scenario == .send ? .command : .roundTrip }
  /// How long to wait for the last acknowledgement.
  let timeout: Duration

  private static let scenario = Option.value(
    "scenario", "SCENARIO",
    "Exchange packets with bumble-bench or another atto bench: send, receive, ping or pong.",
    expected: Scenario.allCases.map(\.rawValue).alternatives
  ) { Scenario(rawValue: $0) }
  private static let over = Option.value(
    "over", "CARRIER", "What carries the packets: gatt or channel (an L2CAP channel).",
    default: Carrier.gatt, shown: "gatt", expected: "gatt or channel"
  ) { Carrier(rawValue: $0) }
  private static let listen = Option.text(
    "listen", "ENDPOINT", "Wait here for a peer that connects, instead of connecting.",
    kind: .place)
  private static let psm = Option.integer(
    "psm", "N", in: 1...255,
    "The PSM of the channel, 1 to 255 (default: 128; with --listen, any from 128 to 255).")
  private static let startDelay = Option.value(
    "start-delay", "SECONDS", "The time before each run.", default: Duration.zero, shown: "0",
    expected: "seconds, at most 1000000", read: seconds)
  private static let `repeat` = Option.integer(
    "repeat", "N", in: 0...1_000_000, default: 0, "Repeat the run N times.")
  private static let repeatDelay = Option.value(
    "repeat-delay", "SECONDS", "The time between runs.", default: Duration.seconds(1), shown: "1",
    expected: "seconds, at most 1000000", read: seconds)
  private static let pace = Option.value(
    "pace", "MILLISECONDS",
    "The time between packets (default: as fast as possible; ping: one at a time).",
    expected: "milliseconds, more than 0 and at most 1000000"
  ) { text in
    Double(text).flatMap { $0 > 0 && $0 <= 1_000_000 ? Duration.seconds($0 / 1000) : nil }
  }
  private static let linger = Option.flag("linger", "Receive or answer further runs.")
  private static let response = Option.flag(
    "response", "Write with response even if the peer accepts writes without response.")

  private static func seconds(_ text: String) -> Duration? {
    Double(text).flatMap { (0...1_000_000).contains($0) ? .seconds($0) : nil }
  }

  package static let options = OptionGroup(
    "scenarios",
    [scenario, over, listen, psm, startDelay, `repeat`, repeatDelay, pace, linger, response])

  /// The arguments with the endpoint of `--listen` in the place of the peer's.
  package static func placed(_ arguments: Arguments) throws(UsageError) -> Arguments {
    guard let place = arguments[listen] else { return arguments }
    try arguments.allow(words: 0)
    return arguments.naming(place)
  }

  /// nil without `--scenario`.
  package init?(_ arguments: Arguments, _ plan: BenchPlan) throws(UsageError) {
    guard let scenario = arguments[Self.scenario] else {
      try arguments.forbid(Array(Self.options.options.dropFirst()), "requires --scenario")
      return nil
    }
    try arguments.forbid(BenchPlan.notForScenarios, "cannot be combined with --scenario")
    self.scenario = scenario
    carrier = arguments[Self.over]
    listens = arguments.has(Self.listen)
    psm = arguments[Self.psm].map { UInt16($0) }
    var workload = scenario.workload
    // The octets of each packet, with the length before it on a channel.
    (workload.size, workload.time, workload.count) = (plan.size, plan.time, plan.count)
    (workload.carrier, workload.pace) = (carrier, arguments[Self.pace])
    // A paced ping does not wait for answers.
    if scenario == .ping, workload.pace != nil { workload.traffic = .writeCommand }
    self.workload = workload
    startDelay = arguments[Self.startDelay]
    repeats = arguments[Self.repeat]
    repeatDelay = arguments[Self.repeatDelay]
    lingers = arguments[Self.linger]
    isAcknowledged = arguments[Self.response]
    showsStages = plan.showsStages
    timeout = arguments[CommonOptions.timeout] ?? .seconds(30)
    if scenario.sends {
      try arguments.forbid([Self.linger], "is for receive and pong")
      if plan.size < BenchPacket.headerLength + overhead {
        throw UsageError(
          "packets have at least \(BenchPacket.headerLength + overhead) octets: --size")
      }
    } else {
      try arguments.forbid(
        [Self.pace, Self.repeat, Self.repeatDelay, Self.startDelay, Self.response],
        "is for send and ping")
    }
    let hasStages =
      switch (scenario, carrier) {
      case (.ping, _): workload.pace == nil && !isAcknowledged && !(carrier == .gatt && listens)
      case (.send, .gatt): !isAcknowledged && !listens
      default: false
      }
    guard !showsStages || hasStages else {
      throw UsageError(
        "--stages cannot be combined with this scenario",
        hint:
          "scenarios have stages with ping without --pace, and with send over GATT; both without --response,"
          + " and over GATT without --listen")
    }
    if carrier == .channel {
      try arguments.forbid([CommonOptions.phy], "cannot be combined with --over channel")
    }
    if carrier == .gatt { try arguments.forbid([Self.psm], "requires --over channel") }
    if carrier == .channel || listens {
      try arguments.forbid([Self.response], "is for a GATT client")
    }
  }

  /// The octets of a packet's length, as they precede it on a channel.
  var overhead: Int { carrier == .channel ? 2 : 0 }

  /// How long all runs may take.
  package var limit: Duration {
    guard let time = workload.time else { return .seconds(3600) }
    return .seconds(300) + (startDelay + repeatDelay + time) * (repeats + 1)
  }
}
