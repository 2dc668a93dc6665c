/// A small random generator whose whole state is its seed, so that a run can be repeated.
///
/// SplitMix64 (Steele, Lea, Flood, 2014). Not for keys.
@frozen public struct SplitMix64: RandomNumberGenerator, Hashable, Sendable {
  @usableFromInline var state: UInt64

  /// Numbers that follow from this seed.
  @inlinable public init(seed: UInt64) { state = seed }

  @inlinable public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// True with the given probability; 0 and below never, 1 and above always. Draws once.
  @inlinable public mutating func chance(_ probability: Double) -> Bool {
    Double(next() >> 11) * 0x1p-53 < probability
  }

  /// A number from 0 up to, not including, `bound`, which must be at least 1. Draws once; for
  /// bounds below 2^32 the bias is below 2^-32.
  @inlinable public mutating func below(_ bound: Int) -> Int {
    precondition(bound > 0, "a bound below 1")
    return Int(next().multipliedFullWidth(by: UInt64(bound)).high)
  }
}
