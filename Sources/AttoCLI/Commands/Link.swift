import Atto
import LinkTiming

/// `atto link`: what an LE link can carry, from its parameters alone.
enum LinkCommand: Command {
  static let name = "link"
  static let examples = [
    "atto link --phy 2M --interval 15ms --dle 251 --mtu 247",
    "atto link --interval 30ms --per 0.01 --json",
  ]
  static let summary = "What a link of these parameters carries: a model, nothing is connected."
  static let usage = "[OPTIONS]"
  static let options = [
    OptionSpec("phy", "PHY", "1M (default), 2M, S2 or S8"),
    OptionSpec("interval", "TIME", "connection interval, 7.5ms to 4s in steps of 1.25ms (30ms)"),
    OptionSpec("dle", "OCTETS", "data length, 27 to 251 (251); 27 is a link without DLE"),
    OptionSpec("mtu", "N", "ATT_MTU, 23 to 517 (247)"),
    OptionSpec("size", "OCTETS", "of each value; by default the longest that one PDU carries"),
    OptionSpec("encrypted", nil, "packets carry a MIC"),
    OptionSpec("per", "SHARE", "exchanges that fail and are repeated, 0 to 0.9, such as 0.01"),
    OptionSpec("event-length", "TIME", "the longest event, if shorter than the interval"),
    OptionSpec("packets", "N", "data packets of one event, if the controller limits them"),
    OptionSpec("json", nil, "one JSON object"),
  ]
  static let notes =
    "\"expected\" leaves in each event room for a pair of full packets and time to prepare the\n"
    + "next, as controllers do; \"at most\" uses it to the microsecond. Hosts that take their\n"
    + "time get less. A link on the virtual air goes as expected here:\n"
    + "atto bench 'air:NAME?phy=2M&interval=15ms&dle=251'."

  struct Row: Encodable {
    let test: String
    let size: Int
    let rate: Double
    let bytesPerSecond: Double
    let linkBytesPerSecond: Double
    let limitBytesPerSecond: Double
  }

  private struct Table: Encodable {
    let phy: String
    let intervalMicroseconds: Int64
    let dataLength: Int
    let mtu: Int
    let encrypted: Bool
    let packetErrorRate: Double
    let eventLengthMicroseconds: Int64?
    let packetsPerEvent: Int?
    let packetMicroseconds: Int64
    let exchangeMicroseconds: Int64
    let tests: [Row]
  }

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    try arguments.allow(words: 0)
    let parameters = try parameters(arguments)
    let mtu = try arguments.integer("mtu", in: LinkParameters.mtuRange) ?? 247
    let size = try arguments.integer("size", in: 1...min(mtu - 3, 512))
    let rows = Throughput.Traffic.allCases.map {
      row($0, size ?? LinkParameters.longestValue($0, mtu: mtu), parameters)
    }
    if arguments.has("json") {
      return try Terminal.print(
        json: Table(
          phy: parameters.phy.rawValue, intervalMicroseconds: parameters.interval / 1000,
          dataLength: parameters.dataLength, mtu: mtu, encrypted: parameters.isEncrypted,
          packetErrorRate: parameters.packetErrorRate,
          eventLengthMicroseconds: parameters.eventLength.map { $0 / 1000 },
          packetsPerEvent: parameters.packetsPerEvent,
          packetMicroseconds: parameters.airTime(payload: parameters.dataLength) / 1000,
          exchangeMicroseconds: parameters.exchangeTime(payload: parameters.dataLength) / 1000,
          tests: rows))
    }
    Terminal.print("\(parameters), MTU \(mtu)")
    Terminal.print(
      "a full packet \(LinkParameters.text(parameters.airTime(payload: parameters.dataLength)))"
        + ", with its reply and the spaces "
        + LinkParameters.text(parameters.exchangeTime(payload: parameters.dataLength)))
    Terminal.print("")
    for line in Columns.text(
      ["", "octets", "values/s", "expected", "", "at most"],
      rows.map { row in
        [
          row.test, "\(row.size)", Decimal.text(row.rate, places: 1),
          "\(Decimal.text(row.bytesPerSecond, places: 0)) B/s",
          "\(Decimal.text(row.bytesPerSecond * 8 / 1000, places: 1)) kb/s",
          "\(Decimal.text(row.limitBytesPerSecond * 8 / 1000, places: 1)) kb/s",
        ]
      })
    { Terminal.print(line) }
  }

  private static func row(
    _ traffic: Throughput.Traffic, _ size: Int, _ parameters: LinkParameters
  ) -> Row {
    var exact = parameters
    exact.scheduling = .exact
    let expected = parameters.throughput(of: traffic, value: size)
    return Row(
      test: traffic.rawValue, size: size, rate: expected.perSecond.rounded(places: 3),
      bytesPerSecond: expected.bytesPerSecond.rounded(places: 1),
      linkBytesPerSecond: expected.linkBytesPerSecond.rounded(places: 1),
      limitBytesPerSecond: exact.throughput(of: traffic, value: size).bytesPerSecond
        .rounded(places: 1))
  }

  /// The parameters that the options state, checked; wrong ones are a wrong command line.
  private static func parameters(_ arguments: Arguments) throws -> LinkParameters {
    var parameters = LinkParameters()
    do throws(LinkParameterFault) {
      for name in LinkParameters.names {
        guard let value = arguments.value(name) else { continue }
        try parameters.set(name, to: value)
      }
      try parameters.check()
    } catch {
      throw UsageError("--\(error)")
    }
    return parameters
  }
}

extension Double {
  /// Cut to so many decimals: what is beyond them is noise.
  func rounded(places: Int) -> Double {
    var scale = 1.0
    for _ in 0..<places { scale *= 10 }
    return (self * scale).rounded() / scale
  }
}
