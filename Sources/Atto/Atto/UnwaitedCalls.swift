/// A counter of `async` calls that were completed at once, because the caller ran on the loop and
/// there was room. A caller that makes only such calls would block the loop, so each
/// ``callsBetweenYields``th of them yields.
struct UnwaitedCalls {
  private var count: UInt32 = 0

  /// At 1 us a call, other work is delayed by some 64 us.
  static let callsBetweenYields: UInt32 = 64

  /// Counts a call. True if it should yield.
  mutating func note() -> Bool {
    count &+= 1
    return count % Self.callsBetweenYields == 0
  }
}
