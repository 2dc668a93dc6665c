import ATT

/// How far a discovery has come in its range: what keeps it advancing, whatever the peer says.
///
/// Every attribute or group that a response lists goes through ``advance(_:through:)``, which
/// lets it pass only inside the range and after everything before it. So each response that is
/// accepted leaves less to ask for, and discovery ends.
struct DiscoveryProgress: Sendable {
  /// All that is to be searched.
  let range: HandleRange
  /// What is left to ask for.
  private var rest: HandleRange?
  /// The last group that was accepted; an attribute is a group of one handle.
  private var last: (start: AttributeHandle, end: AttributeHandle)?
  private var responses = 0
  private let requestLimit: Int

  init(_ range: HandleRange, requestLimit: Int) {
    self.range = range
    self.requestLimit = requestLimit
    rest = range
  }

  /// What the next request asks for. Not to be called when nothing is left.
  var rangeToAsk: HandleRange {
    guard let rest else { preconditionFailure("a request after the end of a discovery") }
    return rest
  }

  /// Accepts a group. Its end may lie beyond the range: a group does not end where the caller
  /// ceases to look.
  @inline(__always)
  mutating func advance(
    _ handle: AttributeHandle, through end: AttributeHandle
  ) throws(ProcedureError) {
    guard range.contains(handle) else { throw .violation(.handleOutOfRange(handle, range)) }
    guard end >= handle else { throw .violation(.groupEndsBeforeStart(handle, end: end)) }
    if let last {
      guard handle > last.start else { throw .violation(.notAdvancing(handle)) }
      guard handle > last.end else { throw .violation(.overlappingGroups(handle)) }
    }
    last = (handle, end)
    rest = range.after(end)
  }

  /// Sets where the next request begins; nil if there is nothing more to look for.
  mutating func resume(at handle: AttributeHandle?) {
    guard let handle else {
      rest = nil
      return
    }
    rest = HandleRange(handle, range.end)
  }

  /// Counts a response. True if another request follows, which the limit must allow.
  mutating func hasRest() throws(ProcedureError) -> Bool {
    responses += 1
    guard rest != nil else { return false }
    guard responses < requestLimit else { throw .violation(.limit(.requests, requestLimit)) }
    return true
  }
}
