import AttoGateway

/// Whether a device is present, and what is due to be published of it. Without input or output; times are
/// nanoseconds of one clock.
///
/// # Theory
/// A device is home from its first advertisement on, and away when none has come for its away time. Before the first
/// one it is unknown, for the away time at most: a gateway that has just started has not listened yet.
///
///     unknown --heard--> home --away time--> away
///        '----------away time--------------> '--heard--> home
///
/// The signal strength is smoothed: after a pause of ``smoothingTime`` a new one counts alone, after a shorter one in
/// proportion, and never less than a tenth. It is published if it has changed by ``rssiStep``, at most every
/// ``reportTime``.
struct PresenceSession {
  static let smoothingTime: Int64 = 30_000_000_000
  static let reportTime: Int64 = 30_000_000_000
  static let rssiStep = 3

  enum State: Equatable { case unknown, home, away }

  /// What is published.
  struct Report: Equatable {
    var isHome: Bool
    /// dBm; nil: the controller does not report it, or the device is away.
    var rssi: Int?
  }

  let configuration: PresenceConfiguration
  private(set) var state = State.unknown
  private let awayTime: Int64
  /// When it was heard last, or the gateway began to listen.
  private var heardTime: Int64
  private var rssi: Double?
  private var published: (rssi: Int?, time: Int64)?

  init(_ configuration: PresenceConfiguration, now: Int64) {
    self.configuration = configuration
    awayTime = configuration.awayTime.components.seconds * 1_000_000_000
    heardTime = now
  }

  /// When the device will be away if it is not heard; nil: it is away.
  var nextTime: Int64? { state == .away ? nil : heardTime + awayTime }

  /// The device was heard.
  mutating func receive(_ strength: Int8?, at time: Int64) -> Report? {
    if let strength {
      let weight = min(1, max(0.1, Double(time - heardTime) / Double(Self.smoothingTime)))
      rssi = rssi.map { $0 + weight * (Double(strength) - $0) } ?? Double(strength)
    }
    heardTime = max(heardTime, time)
    guard state == .home, let published else { return report(.home, time) }
    guard time - published.time >= Self.reportTime, let new = rounded,
      abs(new - (published.rssi ?? .min / 2)) >= Self.rssiStep
    else { return nil }
    return report(.home, time)
  }

  mutating func advance(to time: Int64) -> Report? {
    guard let nextTime, nextTime <= time else { return nil }
    rssi = nil
    return report(.away, time)
  }

  /// What was published last, for a broker that may have lost it; nil: nothing was.
  var last: Report? { state == .unknown ? nil : Report(isHome: state == .home, rssi: rounded) }

  private var rounded: Int? { rssi.map { Int($0.rounded()) } }

  private mutating func report(_ state: State, _ time: Int64) -> Report {
    self.state = state
    published = (rounded, time)
    return Report(isHome: state == .home, rssi: rounded)
  }
}
