/// Counts numbered values at their receiver: what is missing, came twice, or came late.
///
/// Numbers grow by one, from any first one, and wrap at 2^32. The last 64 are remembered one by
/// one: a number from among them is told apart as late or doubled. One that is older counts as out
/// of order, and what was counted lost for it stays so.
public struct SequenceCount: Sendable, Equatable {
  /// Values that came, doubled ones included.
  public private(set) var received: UInt64 = 0
  /// Numbers that were passed over and have not come since.
  public private(set) var lost: UInt64 = 0
  /// Numbers that came again.
  public private(set) var doubled: UInt64 = 0
  /// Numbers that came after a greater one.
  public private(set) var outOfOrder: UInt64 = 0
  /// The number that is expected; nil before the first.
  private var next: UInt32?
  /// Bit i: `next - 1 - i` has come.
  private var seen: UInt64 = 0

  /// Nothing has come yet.
  public init() {}

  /// Takes the number of a value that came.
  public mutating func take(_ number: UInt32) {
    received += 1
    guard let next else {
      self.next = number &+ 1
      seen = 1
      return
    }
    let ahead = Int64(Int32(bitPattern: number &- next))
    if ahead >= 0 {
      lost += UInt64(ahead)
      self.next = number &+ 1
      seen = ahead < 63 ? seen << UInt64(ahead + 1) | 1 : 1
      return
    }
    let age = -ahead - 1
    guard age < 64 else {
      outOfOrder += 1
      return
    }
    let bit = UInt64(1) << UInt64(age)
    if seen & bit != 0 {
      doubled += 1
    } else {
      seen |= bit
      outOfOrder += 1
      lost -= min(lost, 1)
    }
  }
}

/// What a sink that tallies says when it is read, about the client that reads it: 48 octets.
public struct WriteTally: Sendable, Equatable {
  /// Writes, and among them those that were too short for a number.
  public var writes: UInt64 = 0
  /// Octets of their values.
  public var octets: UInt64 = 0
  /// Numbers that were passed over and have not come since.
  public var lost: UInt64 = 0
  /// Numbers that came again.
  public var doubled: UInt64 = 0
  /// Numbers that came after a greater one.
  public var outOfOrder: UInt64 = 0
  /// From the first write to the last.
  public var microseconds: UInt64 = 0

  /// Octets of its form.
  public static let length = 48

  /// Nothing has come yet.
  public init() {}

  /// Six numbers of eight octets, least significant first: writes, octets, lost, doubled, out of
  /// order, microseconds.
  public var value: [UInt8] {
    [writes, octets, lost, doubled, outOfOrder, microseconds].flatMap { number in
      (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
    }
  }

  /// Reads that form; nil for any other length.
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
  }
}
