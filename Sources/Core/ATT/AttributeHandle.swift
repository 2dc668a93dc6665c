/// The number of an attribute on a server. Vol 3, Part F, 3.2.2.
///
/// Valid handles are 0x0001 to 0xFFFF. 0x0000 is reserved, but can be represented because a peer
/// may send it, and because requests for it test whether a server answers Invalid Handle.
@frozen public struct AttributeHandle: RawRepresentable, Hashable, Comparable, Sendable {
  public let rawValue: UInt16

  @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue }
  /// Creates a handle from its number.
  @inlinable public init(_ rawValue: UInt16) { self.rawValue = rawValue }

  /// 0x0000, which is not a valid handle.
  public static let invalid = AttributeHandle(0)
  /// 0x0001, the first valid handle.
  public static let min = AttributeHandle(1)
  /// 0xFFFF, the last handle.
  public static let max = AttributeHandle(0xFFFF)

  /// False for 0x0000 only.
  @inlinable public var isValid: Bool { rawValue != 0 }

  /// The next handle, or nil after 0xFFFF.
  @inlinable public var next: AttributeHandle? {
    rawValue == 0xFFFF ? nil : AttributeHandle(rawValue &+ 1)
  }

  /// The previous handle, or nil for 0x0001 and 0x0000.
  @inlinable public var previous: AttributeHandle? {
    rawValue <= 1 ? nil : AttributeHandle(rawValue &- 1)
  }

  @inlinable public static func < (a: AttributeHandle, b: AttributeHandle) -> Bool {
    a.rawValue < b.rawValue
  }
}

extension AttributeHandle: ExpressibleByIntegerLiteral {
  @inlinable public init(integerLiteral value: UInt16) { self.init(value) }
}

extension AttributeHandle: CustomStringConvertible {
  /// Four digits: `0x002A`.
  public var description: String { "0x" + Hex.digits(rawValue) }
}

/// An ordered, non-empty range of valid handles: 0x0001 <= start <= end.
///
/// A server answers a pair that breaks this rule with Invalid Handle (Vol 3, Part F, 3.4.3.1).
@frozen public struct HandleRange: Hashable, Sendable {
  /// The first handle.
  public let start: AttributeHandle
  /// The last handle, `start` or later.
  public let end: AttributeHandle

  /// Creates a range; nil if `start` is 0x0000 or after `end`.
  @inlinable public init?(_ start: AttributeHandle, _ end: AttributeHandle) {
    guard start.isValid, start <= end else { return nil }
    self.start = start
    self.end = end
  }

  @inlinable init(unchecked start: AttributeHandle, _ end: AttributeHandle) {
    self.start = start
    self.end = end
  }

  /// 0x0001 to 0xFFFF.
  public static let all = HandleRange(unchecked: .min, .max)

  /// The range from this handle to 0xFFFF; nil for 0x0000.
  @inlinable public static func from(_ start: AttributeHandle) -> HandleRange? {
    HandleRange(start, .max)
  }

  /// Whether the handle is in the range, including both ends.
  @inlinable public func contains(_ handle: AttributeHandle) -> Bool {
    start <= handle && handle <= end
  }

  /// The part of the range after `handle`; nil if it is empty.
  @inlinable public func after(_ handle: AttributeHandle) -> HandleRange? {
    guard let next = handle.next else { return nil }
    return HandleRange(next > start ? next : start, end)
  }
}

extension HandleRange: CustomStringConvertible {
  /// `0x0001-0xFFFF`.
  public var description: String { "\(start)-\(end)" }
}
