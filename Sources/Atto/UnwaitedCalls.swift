/// Counts calls that were carried out at once although they are `async`: the caller ran on the
/// loop, and there was room. One who makes nothing but such calls would never let the loop turn,
/// so that every ``callsBetweenYields``th of them yields.
struct UnwaitedCalls {
  private var count: UInt32 = 0

  /// At 1 us a call, others wait some 64 us longer than they would.
  static let callsBetweenYields: UInt32 = 64

  /// Notes a call; true if it should yield.
  mutating func note() -> Bool {
    count &+= 1
    return count % Self.callsBetweenYields == 0
  }
}
