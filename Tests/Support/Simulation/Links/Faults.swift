import AttoATT

/// The faults in one direction of a ``FaultyLink``. Probabilities are from 0 to 1 and are drawn for
/// each PDU, in the order of the properties here.
public struct Faults: Hashable, Sendable {
  /// The probability that a PDU is dropped. A real link never drops one.
  public var drop: Double
  /// The probability that a PDU is truncated, by at least one octet and perhaps to none.
  public var cut: Double
  /// The probability that a PDU arrives twice.
  public var duplicate: Double
  /// The probability that a PDU is delayed, and with it all behind it, since a link keeps the order.
  public var delay: Double
  /// The range of the delays.
  public var delays: ClosedRange<Duration>
  /// The number of PDUs after which the link is closed; nil: never; 0: at the first one.
  public var disconnectAfter: Int?

  /// Creates faults, by default none.
  public init(
    drop: Double = 0, cut: Double = 0, duplicate: Double = 0, delay: Double = 0,
    delays: ClosedRange<Duration> = .milliseconds(1)...(.milliseconds(50)),
    disconnectAfter: Int? = nil
  ) {
    precondition(delays.lowerBound >= .zero, "a delay must not be negative")
    self.drop = drop
    self.cut = cut
    self.duplicate = duplicate
    self.delay = delay
    self.delays = delays
    self.disconnectAfter = disconnectAfter
  }

  /// Draws the fate of a PDU. The number of draws is always the same, so that changing one
  /// probability does not affect the others.
  func fate(ofLength length: Int, using random: inout SplitMix64) -> Fate {
    var fate = Fate()
    let dropped = random.chance(drop)
    let isCut = random.chance(cut)
    let cutTo = random.below(max(length, 1))
    let doubled = random.chance(duplicate)
    let isDelayed = random.chance(delay)
    let span = delays.upperBound - delays.lowerBound
    let part = Double(random.next() >> 11) * 0x1p-53
    fate.dropped = dropped
    guard !dropped else { return fate }
    if isCut, length > 0 { fate.cutTo = cutTo }
    fate.copies = doubled ? 2 : 1
    if isDelayed { fate.delay = delays.lowerBound + span * part }
    return fate
  }
}

/// The faults of one PDU.
struct Fate: Hashable {
  var dropped = false
  var cutTo: Int?
  var copies = 1
  var delay: Duration?
}

/// An injected fault.
public struct FaultRecord: Hashable, Sendable, CustomStringConvertible {
  /// The directions.
  public enum Direction: String, Hashable, Sendable {
    /// Sent by the owner of the ``FaultyLink``.
    case outgoing
    /// From the peer.
    case incoming
  }

  /// The kinds of fault.
  public enum Fault: Hashable, Sendable {
    /// The PDU did not arrive.
    case dropped
    /// Only this many octets arrived.
    case cut(to: Int)
    /// The PDU arrived twice.
    case duplicated
    /// The PDU arrived this much later.
    case delayed(Duration)
    /// The link ended instead.
    case disconnected
  }

  /// The direction of the PDU.
  public let direction: Direction
  /// The index of the PDU in that direction, from 0.
  public let index: Int
  /// The length of the PDU before the fault, or of the PDU lost by `disconnected`.
  public let length: Int
  /// The fault.
  public let fault: Fault

  /// A line for a failing test to print: `outgoing 17 (23 octets): cut to 4`.
  public var description: String {
    let text =
      switch fault {
      case .dropped: "dropped"
      case .cut(let length): "cut to \(length)"
      case .duplicated: "duplicated"
      case .delayed(let delay): "delayed by \(delay)"
      case .disconnected: "disconnected"
      }
    return "\(direction.rawValue) \(index) (\(length) octets): \(text)"
  }
}
