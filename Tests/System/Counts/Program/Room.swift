import Atto

/// Room for one PDU on its way between two ends.
///
/// Unsafe memory, because what is encoded into and what is decoded from must be one place without
/// an array's checks in the count. It is right because `count` octets have been written, and the
/// room is owned by one value, which cannot be copied.
struct Room: ~Copyable {
  private let octets = UnsafeMutableRawBufferPointer.allocate(byteCount: 1024, alignment: 8)
  private var count = 0

  deinit { octets.deallocate() }

  /// Fills the room anew.
  mutating func fill<R>(_ body: (inout OutputRawSpan) throws -> R) rethrows -> R {
    var out = OutputRawSpan(buffer: octets, initializedCount: 0)
    let result = try body(&out)
    count = out.finalize(for: octets)
    return result
  }

  /// Shows what is there.
  func show<R>(_ body: (RawSpan) throws -> R) rethrows -> R {
    try body(UnsafeRawBufferPointer(rebasing: octets[..<count]).bytes)
  }
}
