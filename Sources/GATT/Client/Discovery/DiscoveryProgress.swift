import ATT

/// How far a discovery has come in its range: what keeps it advancing, whatever the peer says.
///
/// Every attribute or group that a response lists goes through ``advance(_:through:)``, which
/// lets it pass only inside the range and after everything before it. So each response that is
/// accepted leaves less to ask for, and discovery ends.
struct DiscoveryProgress: Sendable {
  /// All that is to be searched.
  let range: HandleRange
  /// Where the next request begins; nil if nothing is left to ask for.
  private var start: AttributeHandle?
  /// The last group that was accepted, 0x0000 before the first; an attribute is a group of one
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

  /// What the next request asks for. Not to be called when nothing is left.
  var rangeToAsk: HandleRange {
    guard let start, let rest = HandleRange(start, range.end) else {
      preconditionFailure("a request after the end of a discovery")
    }
    return rest
  }

  /// Accepts a group. Its end may lie beyond the range: a group does not end where the caller
  /// ceases to look.
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

  /// What is wrong with a group.
  @inline(never)
  private func refusal(
    of handle: AttributeHandle, through end: AttributeHandle
  ) -> ProcedureError {
    if !range.contains(handle) { return .violation(.handleOutOfRange(handle, range)) }
    if end < handle { return .violation(.groupEndsBeforeStart(handle, end: end)) }
    if handle <= lastStart { return .violation(.notAdvancing(handle)) }
    return .violation(.overlappingGroups(handle))
  }

  /// Counts a response. True if another request follows, which the limit must allow: it begins
  /// after all that was accepted.
  mutating func hasRest() throws(ProcedureError) -> Bool {
    try hasRest(from: range.after(lastEnd)?.start)
  }

  /// The same, where the next request begins later still; nil if there is nothing more to look for.
  mutating func hasRest(from next: AttributeHandle?) throws(ProcedureError) -> Bool {
    responses += 1
    start = next.flatMap { $0 <= range.end ? $0 : nil }
    guard start != nil else { return false }
    guard responses < requestLimit else { throw .violation(.limit(.requests, requestLimit)) }
    return true
  }
}
