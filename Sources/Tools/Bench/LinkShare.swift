import AttoCommandLine
import AttoLinkTiming

extension BenchLimit.Figures {
  /// Operations per second that a link carries, for values of a size.
  func rate(over link: LinkParameters, size: Int, _ enhanced: EnhancedTraffic?) -> Double {
    func rate(_ length: Int) -> Double {
      link.throughput(of: workload.traffic, value: max(0, length), over: enhanced).perSecond
    }
    guard workload.latency == .procedure, requests > 1 else { return rate(size) }
    // A long value: all requests but the last fill a PDU.
    let others = requests - 1
    let full = min(size, mtu - 1)
    let rest = rate(size - Int(others * Double(full)))
    return full == 0 ? rest / requests : 1 / (others / rate(full) + 1 / rest)
  }
}

/// What a run reached of the physical limit of a link, as the model computes it.
struct LinkShare: Sendable {
  /// Values that the queues of this end and its controller may hold when the last one is accepted.
  private static let queued = 512.0
  /// The accuracy of the model and of the clocks.
  private static let accuracy = 0.02

  /// Operations per second.
  let limit: Double
  let share: Double
  /// Whether the link cannot have carried the run: it is another one.
  let isExceeded: Bool

  /// nil if the link is unknown, or the model does not know the traffic.
  init?(_ figures: BenchLimit.Figures) {
    guard var link = figures.link, figures.rate > 0, figures.isModelled else { return nil }
    (link.scheduling, link.packetErrorRate) = (.exact, 0)
    let size = Int(figures.size.rounded())
    // Beside enhanced bearers, values may use the unenhanced one, which carries more of them.
    limit = max(
      figures.rate(over: link, size: size, figures.enhanced),
      figures.enhanced == nil ? 0 : figures.rate(over: link, size: size, nil))
    guard limit > 0 else { return nil }
    share = (figures.rate / limit).rounded(places: 4)
    // A run may begin and end within an interval.
    let interval = Double(link.interval) * Double(link.subrate) / 1e9
    let time = figures.seconds * (1 + Self.accuracy) + 2 * interval
    let carried = limit * time + (figures.isCountedBySender ? Self.queued : 0)
    isExceeded = figures.rate * figures.seconds > carried
  }
}
