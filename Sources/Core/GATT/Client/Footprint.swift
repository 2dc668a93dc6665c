import AttoATT

/// The values that a procedure reads or writes. See ``Procedure/footprint``.
public struct Footprint: Equatable, Sendable {
  /// The handles of the values.
  public let range: HandleRange
  /// Whether the values may change.
  public let isWrite: Bool
  /// Whether no other procedure may run on any bearer of the client.
  public let isExclusive: Bool

  /// A footprint on a range of values.
  public init(_ range: HandleRange, isWrite: Bool) {
    self.init(range, isWrite: isWrite, isExclusive: false)
  }

  private init(_ range: HandleRange, isWrite: Bool, isExclusive: Bool) {
    self.range = range
    self.isWrite = isWrite
    self.isExclusive = isExclusive
  }

  /// The footprint of a procedure that reads the Database Hash. A client with several bearers waits
  /// for the responses to all pending requests before that. Vol 3, Part G, 2.5.2.1.
  public static let databaseHash = Footprint(.all, isWrite: false, isExclusive: true)

  /// A footprint on these values, and on those between them; nil if a handle is 0x0000.
  init?(_ handles: some Sequence<AttributeHandle>, isWrite: Bool) {
    var (first, last) = (AttributeHandle.max, AttributeHandle.invalid)
    for handle in handles { (first, last) = (min(first, handle), max(last, handle)) }
    guard let range = HandleRange(first, last) else { return nil }
    self.init(range, isWrite: isWrite)
  }

  /// A footprint on one value; nil if the handle is 0x0000.
  init?(_ handle: AttributeHandle, isWrite: Bool) {
    guard let range = HandleRange(handle, handle) else { return nil }
    self.init(range, isWrite: isWrite)
  }

  /// Whether the order of the two matters: they share a value, and one of them writes.
  func conflicts(with other: Footprint?) -> Bool {
    guard let other, isWrite || other.isWrite else { return false }
    return range.start <= other.range.end && other.range.start <= range.end
  }
}
