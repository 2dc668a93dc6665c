/// Octets from pairs of hexadecimal digits, with or without spaces.
func octets(_ text: String) -> [UInt8] {
  let digits = text.filter { $0 != " " }.map { UInt8($0.hexDigitValue!) }
  return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

/// Pairs of lowercase hexadecimal digits, parted by spaces.
func text(_ octets: some Sequence<UInt8>) -> String {
  octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ")
}

/// The same octet so many times, as text.
func text(_ octet: UInt8, times count: Int) -> String {
  text([UInt8](repeating: octet, count: count))
}

/// A number as PDUs have it, as text.
func text(_ number: Int) -> String { text([UInt8(number & 0xFF), UInt8(number >> 8 & 0xFF)]) }

/// Numbers that a seed repeats: SplitMix64.
struct Seeded: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
