/// What goes wrong in one direction of a ``FaultyLink``. Probabilities are from 0 to 1 and are
/// drawn for each PDU, in the order of the properties here.
public struct Faults: Hashable, Sendable {
  /// That a PDU vanishes. A real link never does this: it keeps or it ends.
  public var drop: Double
  /// That a PDU loses its end: it keeps 0 up to all but one of its octets.
  public var cut: Double
  /// That a PDU comes twice.
  public var duplicate: Double
  /// That a PDU is held back, and with it all behind it, since a link keeps the order.
  public var delay: Double
  /// For how long, both ends included.
  public var delays: ClosedRange<Duration>
  /// After so many PDUs the link is closed. Nil: never. 0: at the first one.
  public var disconnectAfter: Int?

  /// Nothing goes wrong unless said.
  public init(
    drop: Double = 0, cut: Double = 0, duplicate: Double = 0, delay: Double = 0,
    delays: ClosedRange<Duration> = .milliseconds(1)...(.milliseconds(50)),
    disconnectAfter: Int? = nil
  ) {
    precondition(delays.lowerBound >= .zero, "a delay into the past")
    self.drop = drop
    self.cut = cut
    self.duplicate = duplicate
    self.delay = delay
    self.delays = delays
    self.disconnectAfter = disconnectAfter
  }

  /// Draws the fate of a PDU. Each question draws whether or not an earlier one decided, so that
  /// changing one probability leaves the others' draws where they were.
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

/// What befalls one PDU.
struct Fate: Hashable {
  var dropped = false
  var cutTo: Int?
  var copies = 1
  var delay: Duration?
}

/// A fault that was injected.
public struct FaultRecord: Hashable, Sendable, CustomStringConvertible {
  /// Which way a PDU went.
  public enum Direction: String, Hashable, Sendable {
    /// Sent by the one who holds the ``FaultyLink``.
    case outgoing
    /// From the peer.
    case incoming
  }

  /// What became of a PDU.
  public enum Fault: Hashable, Sendable {
    /// It did not arrive.
    case dropped
    /// Only its first octets arrived, so many.
    case cut(to: Int)
    /// It arrived twice.
    case duplicated
    /// It arrived so much later.
    case delayed(Duration)
    /// The link ended in its place.
    case disconnected
  }

  /// Which way the PDU went.
  public let direction: Direction
  /// Which PDU of that direction, counted from 0.
  public let index: Int
  /// Its length before the fault; for `disconnected` the length of the one that was lost.
  public let length: Int
  /// What became of it.
  public let fault: Fault

  /// For a failing test to print: `outgoing 17 (23 octets): cut to 4`.
  public var description: String {
    let what =
      switch fault {
      case .dropped: "dropped"
      case .cut(let length): "cut to \(length)"
      case .duplicated: "duplicated"
      case .delayed(let delay): "delayed by \(delay)"
      case .disconnected: "disconnected"
      }
    return "\(direction.rawValue) \(index) (\(length) octets): \(what)"
  }
}
