import AttoATT

/// The progress of a discovery in its range, which ensures that it ends, whatever the peer sends.
///
/// ``advance(_:through:)`` checks every attribute or group of a response: it must be in the range
/// and after all earlier ones. So each accepted response leaves a smaller range to search.
struct DiscoveryProgress: Sendable {
  /// The range to search.
  let range: HandleRange
  /// The start of the next request; nil if nothing is left to search.
  private var start: AttributeHandle?
  /// The last group that was accepted; 0x0000 before the first. An attribute is a group of one
  /// handle.
  private var lastStart = AttributeHandle.invalid
  private var lastEnd = AttributeHandle.invalid
  private var responses = 0
  private let requestLimit: Int

  init(_ range: HandleRange, requestLimit: Int) {
    self.range = range
    self.requestLimit = requestLimit
    start = range.start
  }

  /// The range of the next request. Traps if nothing is left.
  var rangeToAsk: HandleRange {
    guard let start, let rest = HandleRange(start, range.end) else {
      preconditionFailure("a request after the end of a discovery")
    }
    return rest
  }

  /// Accepts a group. It may end after the range.
  @inline(__always)
  mutating func advance(
    _ handle: AttributeHandle, through end: AttributeHandle
  ) throws(ProcedureError) {
    guard handle > lastEnd, end >= handle, range.contains(handle) else {
      throw refusal(of: handle, through: end)
    }
    lastStart = handle
    lastEnd = end
  }

  /// The error for a group that is not accepted.
  @inline(never)
  private func refusal(
    of handle: AttributeHandle, through end: AttributeHandle
  ) -> ProcedureError {
    if !range.contains(handle) { return .violation(.handleOutOfRange(handle, range)) }
    if end < handle { return .violation(.groupEndsBeforeStart(handle, end: end)) }
    if handle <= lastStart { return .violation(.notAdvancing(handle)) }
    return .violation(.overlappingGroups(handle))
  }

  /// Counts a response. Returns true if another request follows, after everything that was
  /// accepted. Throws if the limit does not allow another request.
  mutating func hasRest() throws(ProcedureError) -> Bool {
    try hasRest(from: range.after(lastEnd)?.start)
  }

  /// The same for a next request that starts later; nil if nothing is left to search.
  mutating func hasRest(from next: AttributeHandle?) throws(ProcedureError) -> Bool {
    responses += 1
    start = next.flatMap { $0 <= range.end ? $0 : nil }
    guard start != nil else { return false }
    guard responses < requestLimit else { throw .limit(.requests, requestLimit) }
    return true
  }
}
