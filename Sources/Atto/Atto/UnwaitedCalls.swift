/// A counter of `async` calls that were completed at once, because the caller ran on the loop and
/// there was room. A caller that makes only such calls would block the loop, so each
/// ``callsBetweenYields``th of them lets the loop finish its turn.
struct UnwaitedCalls {
  private var count: UInt32 = 0

  /// At 1 us a call, other work is delayed by some 128 us. With half as many, a value that is sent costs 2 %
  /// more.
  static let callsBetweenYields: UInt32 = 128

  /// Counts a call. True if it should yield.
  mutating func note() -> Bool {
    count &+= 1
    return count % Self.callsBetweenYields == 0
  }
}
