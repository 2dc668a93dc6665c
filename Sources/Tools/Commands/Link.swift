import Atto
import AttoCommandLine
import AttoLinkTiming

/// `atto link`: the throughput of an LE link, computed from its parameters.
package enum LinkCommand: Command {
  private static let mtu = Option.integer(
    "mtu", "N", in: LinkParameters.mtuRange, default: 247, "The ATT_MTU, 23 to 517.")
  private static let size = Option.integer(
    "size", "OCTETS", in: 1...512,
    "The length of each value (default: the longest that fits one PDU).")
  /// The options that ``LinkParameters`` reads, by its names.
  private static let parameters = [
    parameter(
      "phy", "PHY", "The PHY: 1M, 2M, S2 or S8 (default: 1M).",
      kind: .words { PHY.allCases.map(\.name) }),
    parameter(
      "interval", "TIME",
      "The connection interval, 375us to 4s in steps of 125us (default: 30ms)."),
    parameter(
      "dle", "OCTETS", "The data length, 27 (no extension) to 251 (default: 251)."),
    parameter(
      "per", "SHARE", "The share of exchanges that fail and are repeated, 0 to 0.9."),
    parameter("event-length", "TIME", "The longest event, if shorter than the interval."),
    parameter("packets", "N", "The controller's limit of data packets per event."),
    parameter("subrate", "N", "Of how many events one is used, 1 to 500 (default: 1)."),
    parameter(
      "continuation", "N", "How many more events are used after one with data (default: 0)."),
    parameter(
      "links", "N",
      "The number of such links that share the radio of one end, 1 to 255 (default: 1)."),
    parameter(
      "frame-space", "TIME", "The time between packets (default: 150us; some chips reach 52us)."),
  ]
  private static let drift = Option.value(
    "drift", "PPM",
    "Also compute how often the events of two links meet whose clocks differ by so many millionths, 0.1 to 1000.",
    expected: "a number from 0.1 to 1000"
  ) { text in Double(text).flatMap { (0.1...1000).contains($0) ? $0 : nil } }
  private static let bearers = Option.integer(
    "bearers", "N", in: 0...ConnectionOptions.maximumEnhancedBearers, default: 0,
    "Read and write over N enhanced bearers (EATT) at a time, notify over one, 0 to 5.")
  private static let credits = Option.integer(
    "credits", "N", in: 1...65535,
    "Also compute an L2CAP channel whose receiver grants N credits, each for one frame.")
  private static let encrypted = Option.flag("encrypted", "Packets carry a MIC.")

  private static func parameter(
    _ name: String, _ argument: String, _ summary: String, kind: ValueKind = .other
  ) -> Option<String?> { .text(name, argument, summary, kind: kind) }

  package static let description = CommandDescription(
    "link", "Compute the throughput of an LE link from its parameters.", synopsis: ["[OPTIONS]"],
    details: """
      The command uses a model of LE links, which is checked against published measurements. It opens
      no connection.

      The column "expected" leaves room in each event for a pair of full packets and the preparation of
      the next packet, as controllers do; "at most" uses the whole event. Slow hosts reach less. A link
      on the virtual air with the same parameters reaches the expected throughput:
      atto bench 'air:NAME?phy=2M&interval=15ms&dle=251'.

      With --links each row is one link, and the last column all of them. Their events follow each other, as a
      central places them. A peripheral cannot place the events of its centrals: --drift computes when two meet.
      """,
    options: parameters + [encrypted] as [any CommandOption] + [
      drift, mtu, size, bearers, credits, CommonOptions.json,
    ],
    examples: [
      "atto link --phy 2M --interval 15ms --dle 251 --mtu 247",
      "atto link --interval 30ms --per 0.01 --json",
      "atto link --phy 2M --interval 15ms --bearers 5",
      "atto link --links 20 --interval 50ms --drift 20",
      "atto link --interval 30ms --credits 1",
      "atto link --phy 2M --interval 750us --frame-space 63us --dle 27 --mtu 23",
    ])

  package static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let parameters = try parameters(arguments)
    let mtu = arguments[mtu]
    let size = arguments[size]
    if let size, size > min(mtu - 3, 512) {
      throw UsageError("--size must be at most \(min(mtu - 3, 512)) with an MTU of \(mtu)")
    }
    let count = arguments[bearers]
    // Vol 3, Part F, 3.2.8.
    guard count == 0 || mtu >= 64 else {
      throw UsageError("--bearers requires an MTU of at least 64: --mtu")
    }
    let enhanced =
      count > 0 ? EnhancedTraffic(bearers: count, inFlight: count, mtu: mtu) : nil
    let overlap = arguments[drift].map { parameters.overlap(drift: $0) }
    var rows = Throughput.Traffic.allCases.map { traffic in
      let size = size ?? LinkParameters.longestValue(traffic, mtu: mtu)
      return row(traffic.rawValue, size, parameters) {
        $0.throughput(of: traffic, value: size, over: enhanced)
      }
    }
    if let credits = arguments[credits] {
      // One packet, with the length of the SDU before it.
      let size = min(size ?? .max, parameters.dataLength - 6)
      rows.append(
        row("channel", size, parameters) { $0.channelThroughput(sdu: size, credits: credits) })
    }
    let length = parameters.dataLength
    let packet = parameters.airTime(payload: length)
    let exchange = parameters.exchangeTime(payload: length)
    if arguments[CommonOptions.json] {
      return Terminal.print(json: [
        "phy": parameters.phy.name, "intervalMicroseconds": parameters.interval / 1000,
        "dataLength": length, "mtu": mtu, "bearers": count,
        "credits": arguments[credits], "encrypted": parameters.isEncrypted,
        "packetErrorRate": parameters.packetErrorRate,
        "eventLengthMicroseconds": parameters.eventLength.map { $0 / 1000 },
        "packetsPerEvent": parameters.packetsPerEvent, "subrate": parameters.subrate,
        "continuation": parameters.continuation,
        "frameSpaceMicroseconds": parameters.frameSpace / 1000,
        "packetMicroseconds": packet / 1000,
        "exchangeMicroseconds": exchange / 1000, "links": parameters.links,
        "shareMicroseconds": parameters.share / 1000, "turns": parameters.turns,
        "overlap": overlap.map {
          [
            "periodSeconds": (Double($0.period) / 1e9).rounded(places: 3),
            "seconds": (Double($0.duration) / 1e9).rounded(places: 3),
          ] as JSONObject
        },
        "tests": rows.map(\.json),
      ])
    }
    let over = count > 0 ? ", \(Shown.count(count, "enhanced bearer"))" : ""
    Terminal.print("\(parameters), MTU \(mtu)\(over)")
    Terminal.print(
      "full packet: \(LinkParameters.text(packet)), with reply and spacing: "
        + LinkParameters.text(exchange))
    for line in sharing(parameters, overlap) { Terminal.print(line) }
    Terminal.print("")
    Columns.print(
      ["", "octets", "values/s", "expected", "", "at most"]
        + (parameters.links > 1 ? ["\(parameters.links) links"] : []),
      rows.map(\.cells), isNumeric: true)
  }

  /// What several links mean for each.
  private static func sharing(
    _ parameters: LinkParameters, _ overlap: LinkParameters.Overlap?
  ) -> [String] {
    var lines: [String] = []
    if parameters.links > 1 {
      let turns = parameters.turns
      let wait = LinkParameters.text(turns * parameters.interval)
      lines.append(
        "\(parameters.links) links share the radio: each has an event of at most"
          + " \(LinkParameters.text(parameters.share))"
          + (turns == 1
            ? " in every interval"
            : " in one of \(turns) intervals, every \(wait): supervision timeouts must be longer"))
    }
    if let overlap {
      func seconds(_ time: Int64) -> String { "\(Decimal.text(Double(time) / 1e9, places: 1)) s" }
      lines.append(
        "two links that other radios place overlap every \(seconds(overlap.period)), for"
          + " \(seconds(overlap.duration)): a link that gets no event for a supervision timeout is lost"
      )
    }
    return lines
  }

  private static func row(
    _ name: String, _ size: Int, _ parameters: LinkParameters,
    _ throughput: (LinkParameters) -> Throughput
  ) -> (cells: [String], json: JSONObject) {
    var exact = parameters
    exact.scheduling = .exact
    let expected = throughput(parameters)
    let rate = expected.perSecond.rounded(places: 3)
    let bytes = expected.bytesPerSecond.rounded(places: 1)
    let most = throughput(exact)
    let limit = most.bytesPerSecond.rounded(places: 1)
    func kilobits(_ bytes: Double) -> String {
      "\(Decimal.text(bytes * 8 / 1000, places: 1)) kb/s"
    }
    return (
      [
        name, "\(size)", Decimal.text(rate, places: 1),
        "\(Decimal.text(bytes, places: 0)) B/s", kilobits(bytes), kilobits(limit),
      ] + (parameters.links > 1 ? [kilobits(bytes * Double(parameters.links))] : []),
      [
        "test": name, "size": size, "rate": rate, "bytesPerSecond": bytes,
        "linkBytesPerSecond": expected.linkBytesPerSecond.rounded(places: 1),
        "limitBytesPerSecond": limit,
      ]
    )
  }

  private static func parameters(_ arguments: Arguments) throws(UsageError) -> LinkParameters {
    var link = LinkParameters()
    do throws(LinkParameterFault) {
      for option in parameters {
        guard let value = arguments[option] else { continue }
        try link.set(option.description.name, to: value)
      }
      if arguments[encrypted] { try link.set(encrypted.description.name, to: "") }
      try link.check()
    } catch {
      throw UsageError(error.found, for: error.parameter, expected: error.expected)
    }
    return link
  }
}
