/// Counts lost, duplicate and late values at the receiver of a numbered sequence.
///
/// Numbers grow by one from any first one and wrap at 2^32. The counter remembers which of the last 64
/// numbers arrived, and so distinguishes late from duplicate ones. An older number counts as out of
/// order and stays counted as lost.
public struct SequenceCount: Sendable, Equatable {
  /// Received values, including duplicates.
  public private(set) var received: UInt64 = 0
  /// Numbers that were skipped and have not arrived since.
  public private(set) var lost: UInt64 = 0
  /// Duplicate numbers.
  public private(set) var doubled: UInt64 = 0
  /// Numbers that arrived after a greater one.
  public private(set) var outOfOrder: UInt64 = 0
  /// The next expected number; nil before the first.
  private var next: UInt32?
  /// Bit i: `next - 1 - i` has arrived.
  private var seen: UInt64 = 0

  /// What a received number is among those before it.
  public enum Arrival: Sendable, Equatable {
    /// The next number.
    case next
    /// So many numbers before it were skipped.
    case ahead(UInt32)
    /// A number that had arrived before.
    case doubled
    /// A number that had been skipped, or one that is too old to tell.
    case outOfOrder
  }

  /// Creates a counter without values.
  public init() {}

  /// Counts a received number.
  @discardableResult
  public mutating func receive(_ number: UInt32) -> Arrival {
    received += 1
    guard let next else {
      self.next = number &+ 1
      seen = 1
      return .next
    }
    let ahead = Int64(Int32(bitPattern: number &- next))
    if ahead >= 0 {
      lost += UInt64(ahead)
      self.next = number &+ 1
      seen = ahead < 63 ? seen << UInt64(ahead + 1) | 1 : 1
      return ahead == 0 ? .next : .ahead(UInt32(ahead))
    }
    let age = -ahead - 1
    guard age < 64 else {
      outOfOrder += 1
      return .outOfOrder
    }
    let bit = UInt64(1) << UInt64(age)
    if seen & bit != 0 {
      doubled += 1
      return .doubled
    }
    seen |= bit
    outOfOrder += 1
    lost -= min(lost, 1)
    return .outOfOrder
  }
}

/// The value of a sink that tallies: counts of the reading client's writes, in 56 octets.
public struct WriteTally: Sendable, Equatable {
  /// Writes, including those too short for a number.
  public var writes: UInt64 = 0
  /// The total length of the written values in octets.
  public var octets: UInt64 = 0
  /// Numbers that were skipped and have not arrived since.
  public var lost: UInt64 = 0
  /// Duplicate numbers.
  public var doubled: UInt64 = 0
  /// Numbers that arrived after a greater one.
  public var outOfOrder: UInt64 = 0
  /// Microseconds from the first write to the last.
  public var microseconds: UInt64 = 0
  /// Writes whose check sum was wrong. Their numbers do not count.
  public var damaged: UInt64 = 0

  /// The length of the encoded tally in octets.
  public static let length = 56

  /// Creates a tally of no writes.
  public init() {}

  /// The encoded tally: writes, octets, lost, doubled, out of order, microseconds and damaged, in eight
  /// octets each, little-endian.
  public var value: [UInt8] {
    [writes, octets, lost, doubled, outOfOrder, microseconds, damaged].flatMap { number in
      (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
    }
  }

  /// Decodes a tally. Returns nil if the length is wrong.
  public init?(value: [UInt8]) {
    guard value.count == Self.length else { return nil }
    func number(_ index: Int) -> UInt64 {
      value[index * 8..<index * 8 + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    writes = number(0)
    octets = number(1)
    lost = number(2)
    doubled = number(3)
    outOfOrder = number(4)
    microseconds = number(5)
    damaged = number(6)
  }

  /// Adds the tally of another value that was written at the same time.
  package mutating func add(_ other: WriteTally) {
    writes &+= other.writes
    octets &+= other.octets
    lost &+= other.lost
    doubled &+= other.doubled
    outOfOrder &+= other.outOfOrder
    microseconds = max(microseconds, other.microseconds)
    damaged &+= other.damaged
  }
}
