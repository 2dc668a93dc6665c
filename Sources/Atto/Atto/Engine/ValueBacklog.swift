import AttoATT
import AttoGATT

/// The values that wait for room on one bearer, in order. Used on the loop's thread.
///
/// A bearer has one while values wait, so that sending to a client that keeps up costs one look.
final class ValueBacklog {
  private let limits: ConnectionOptions.Backlog
  private var queue = PDUQueue()
  /// Values that were dropped and not told.
  private(set) var dropped: UInt64 = 0
  /// Whether it was told that values are dropped.
  var hasTold = false

  init(_ limits: ConnectionOptions.Backlog) { self.limits = limits }

  private static let headerLength = 2

  var isEmpty: Bool { queue.isEmpty }
  var count: Int { queue.count }

  /// Whether one more value fits.
  func fits(_ value: RawSpan) -> Bool {
    queue.isEmpty
      || queue.count < limits.values
        // Each entry has its handle and its length.
        && queue.byteCount - 4 * queue.count + value.byteCount <= limits.octets
  }

  /// Adds a value. Drops the oldest ones until it fits.
  ///
  /// - Returns: whether it had to.
  func append(_ handle: AttributeHandle, _ value: RawSpan) -> Bool {
    var hasDropped = false
    while !fits(value) {
      queue.removeFirst()
      dropped += 1
      hasDropped = true
    }
    // An attribute's value has at most 512 octets.
    let value = value.extracting(first: Int(UInt16.max) - 8)
    queue.append(limit: Self.headerLength + value.byteCount) { out in
      out.append(handle)
      out.append(value)
    }
    return hasDropped
  }

  /// Calls `body` with the values, in order, and removes those for which it returns true, up to the
  /// first for which it does not.
  func drain(_ body: (AttributeHandle, RawSpan) -> Bool) {
    while let isTaken = queue.withFirst({ entry in
      let handle = entry.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt16.self)
      return body(
        AttributeHandle(UInt16(littleEndian: handle)),
        entry.extracting(droppingFirst: Self.headerLength))
    }), isTaken {
      queue.removeFirst()
    }
  }

  /// Takes the number of dropped values that have not been told.
  func takeDropped() -> UInt64 {
    defer { dropped = 0 }
    return dropped
  }
}
