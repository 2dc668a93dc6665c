import Atto
import AttoCommandLine
import AttoLinkTiming

/// What limits a measurement, as far as its figures and the model of the link tell.
struct BenchLimit: Codable, Sendable, Equatable {
  enum Kind: String, Codable, Sendable {
    case pace, cpu, peerCPU, interval, subrate, links, eventLength, packetErrors, dataLength, phy,
      mtu
    case valueLength, credits, peer, unknown
  }

  var kind: Kind
  /// A clause, such as `the data length of 27 octets: ...`.
  var text: String

  /// The figures of a measurement that tell its limit.
  struct Figures: Sendable {
    var workload: Workload
    /// Operations or values per second, and the octets of each value.
    var rate: Double
    var size: Double
    var seconds = 0.0
    var mtu: Int
    /// Requests of each operation.
    var requests = 1.0
    /// The shares of the time for which the processors of both ends worked.
    var cpu: Double
    var peerCPU: Double?
    /// The share of the time for which this end waited to send.
    var waiting = 0.0
    /// Procedures at a time, and the enhanced bearers that carry them.
    var inFlight = 1
    var enhanced: EnhancedTraffic?
    var link: LinkParameters?

    /// Whether a value counts when this end has queued it.
    var isCountedBySender = false

    var isChannel: Bool { workload.carrier == .channel }
    /// Whether the model of links computes what the link carries of the workload.
    var isModelled: Bool { !isChannel && mtu >= 23 }
  }

  /// A smaller share of what controllers reach on the link means that something else is the limit.
  static let busyLink = 0.8
  static let busyProcessor = 0.8

  /// - Parameter share: what the run reached of the link's limit; nil if that is unknown.
  init(_ figures: Figures, _ share: LinkShare?) {
    let found =
      Self.pace(figures) ?? Self.link(figures, share) ?? Self.processor(figures)
      ?? Self.others(figures)
    (kind, text) = (found.0, found.1)
  }

  private typealias Found = (Kind, String)

  private static func pace(_ figures: Figures) -> Found? {
    guard let step = figures.workload.pace, figures.rate > 0.9 / (step / .seconds(1)) else {
      return nil
    }
    let pace = 1 / (step / .seconds(1))
    return (.pace, "the pace: --pace asks for \(Decimal.text(pace, places: 1)) values a second")
  }

  // MARK: The link

  private static func link(_ figures: Figures, _ share: LinkShare?) -> Found? {
    guard let link = figures.link, let share else { return nil }
    let workload = figures.workload
    let size = Int(figures.size.rounded())
    func rate(_ link: LinkParameters, size: Int) -> Double {
      figures.rate(over: link, size: size, figures.enhanced)
    }
    let now = rate(link, size: size)
    guard now > 0, figures.rate >= busyLink * now else { return nil }
    var candidates: [(gain: Double, Kind, String)] = []
    func consider(_ kind: Kind, _ name: String, _ change: (inout LinkParameters) -> Void) {
      var other = link
      change(&other)
      if other != link { candidates.append((rate(other, size: size) / now, kind, name)) }
    }
    if workload.isRoundTrip, figures.requests > 2.5, figures.mtu < 247 {
      let most = figures.requests * Double(figures.mtu - 1) / 246
      candidates.append(
        (figures.requests / max(1, most), .mtu, "an MTU of 247 instead of \(figures.mtu)"))
    }
    if !workload.isRoundTrip {
      let full = LinkParameters.longestValue(workload.traffic, mtu: figures.mtu)
      func octets(_ other: Int) -> Double {
        rate(link, size: other) * Double(other) / (now * Double(max(1, size)))
      }
      if size < full - 8 {
        candidates.append(
          (octets(full), .valueLength, "values of \(full) octets instead of \(size)"))
      } else if figures.mtu < 247 {
        candidates.append((octets(244), .mtu, "an MTU of 247 instead of \(figures.mtu)"))
      }
    }
    consider(.dataLength, "a data length of 251 octets instead of \(link.dataLength)") {
      $0.dataLength = 251
    }
    consider(.phy, "PHY 2M instead of \(link.phy.name)") { $0.phy = .le2M }
    let interval = workload.isRoundTrip ? link.interval / 2 : min(link.interval * 4, 4_000_000_000)
    let legal = max(interval / LinkParameters.intervalUnit, 3) * LinkParameters.intervalUnit
    consider(
      .interval, "an interval of \(milliseconds(legal)) instead of \(milliseconds(link.interval))"
    ) { $0.interval = legal }
    consider(.subrate, "no subrating") { $0.subrate = 1 }
    consider(.links, "a radio for this link alone") { $0.links = 1 }
    consider(.eventLength, "longer connection events") {
      ($0.eventLength, $0.packetsPerEvent) = (nil, nil)
    }
    consider(.packetErrors, "no packet errors") { $0.packetErrorRate = 0 }
    let reached = "this run is \(text(ofShare: share.share)) of the link's limit"
    guard let best = candidates.max(by: { $0.gain < $1.gain }), best.gain > 1.05 else {
      return (.phy, "PHY \(link.phy.name): \(reached), and no other parameter would add 5 %")
    }
    let gain = Decimal.text(best.gain, places: best.gain < 10 ? 2 : 0)
    return (best.1, "\(noun(best.1)): \(reached); \(best.2) would carry \(gain) times as much")
  }

  private static func noun(_ kind: Kind) -> String {
    switch kind {
    case .interval: "the connection interval"
    case .subrate: "the subrating of the link"
    case .links: "the number of links that share the radio"
    case .eventLength: "the length of connection events"
    case .packetErrors: "packet errors"
    case .dataLength: "the data length"
    case .phy: "the PHY"
    case .mtu: "the MTU"
    case .valueLength: "the length of the values"
    default: kind.rawValue
    }
  }

  /// Nanoseconds as `7.5 ms`.
  static func milliseconds(_ time: Int64) -> String {
    let text = Decimal.text(Double(time) / 1e6, places: 3)
    let trimmed = text.reversed().drop { $0 == "0" }.drop { $0 == "." }
    return String(trimmed.reversed()) + " ms"
  }

  static func text(ofShare share: Double) -> String {
    "\(Decimal.text(share * 100, places: 1)) %"
  }

  private static func percent(_ share: Double) -> String {
    "\(Decimal.text(min(share, 9.99) * 100, places: 0)) %"
  }

  // MARK: The ends

  private static func processor(_ figures: Figures) -> Found? {
    let (own, peer) = (figures.cpu, figures.peerCPU ?? 0)
    if own >= busyProcessor, own >= peer {
      return (.cpu, "the CPU of this end: it worked for \(percent(own)) of the time")
    }
    if peer >= busyProcessor {
      return (.peerCPU, "the CPU of the peer: it worked for \(percent(peer)) of the time")
    }
    // The ends of a round trip work one after the other.
    guard figures.workload.isRoundTrip, figures.inFlight == 1, own + peer >= busyProcessor else {
      return nil
    }
    return (
      own >= peer ? .cpu : .peerCPU,
      "the CPU of both ends: they worked for \(percent(own)) (here) and \(percent(peer)) of the time"
    )
  }

  private static func others(_ figures: Figures) -> Found {
    let workload = figures.workload
    if figures.waiting >= 0.5 {
      let waited = "this end waited for \(percent(figures.waiting)) of the time"
      return figures.isChannel
        ? (.credits, "the credits of the channel: \(waited) until the peer had room")
        : (.peer, "the peer: \(waited) until the link took a value")
    }
    let underWay = Double(figures.enhanced?.underWay ?? 1)
    let link = figures.link.map { link in
      let size = Int(figures.size.rounded())
      let time = underWay * 1000 / figures.rate(over: link, size: size, figures.enhanced)
      return ", of which the link takes \(Decimal.text(time, places: 2)) ms"
    }
    let worked = "this end worked for \(percent(figures.cpu)) of the time"
    if workload.isRoundTrip, link != nil || figures.peerCPU == nil {
      let time = Decimal.text(underWay * 1000 / figures.rate, places: 2)
      return (.peer, "the peer's answers: they come after \(time) ms\(link ?? ""); \(worked)")
    }
    if workload.sender == .peer, !workload.isRoundTrip {
      let time = Decimal.text(1000 / figures.rate, places: 2)
      return (.peer, "the peer: it sends a value every \(time) ms\(link ?? "")")
    }
    let peer = figures.peerCPU.map { " and the peer for \(percent($0))" } ?? ""
    return (.unknown, "the link, or other work on the processors: \(worked)\(peer)")
  }
}
