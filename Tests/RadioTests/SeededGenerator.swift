import Links

/// The same numbers for the same seed. Tests print the seed of what failed.
typealias SeededGenerator = SplitMix64

extension SplitMix64 {
  mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
  }
}
