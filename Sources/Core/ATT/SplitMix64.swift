/// A random number generator whose whole state is its seed, so that a run can be repeated.
/// SplitMix64 (Steele, Lea, Flood, 2014). Not for keys.
package struct SplitMix64: RandomNumberGenerator, Hashable, Sendable {
  @usableFromInline var state: UInt64

  /// Starts the sequence of this seed.
  @inlinable package init(seed: UInt64) { state = seed }

  @inlinable package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// True with the given probability: never for 0 and below, always for 1 and above. Draws once.
  @inlinable package mutating func chance(_ probability: Double) -> Bool {
    Double(next() >> 11) * 0x1p-53 < probability
  }

  /// A number from 0 up to, not including, `bound`, which must be at least 1. Draws once; for
  /// bounds below 2^32 the bias is below 2^-32.
  @inlinable package mutating func below(_ bound: Int) -> Int {
    precondition(bound > 0, "a bound below 1")
    return Int(next().multipliedFullWidth(by: UInt64(bound)).high)
  }

  /// So many octets. Draws once for each.
  package mutating func octets(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
  }
}
