import AttoATT

/// The values that a procedure reads or writes. See ``Procedure/footprint``.
public struct Footprint: Equatable, Sendable {
  /// The handles of the values.
  public let range: HandleRange
  /// Whether the values may change.
  public let isWrite: Bool

  /// A footprint on a range of values.
  public init(_ range: HandleRange, isWrite: Bool) {
    self.range = range
    self.isWrite = isWrite
  }

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
