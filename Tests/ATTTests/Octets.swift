import ATT

/// Octets from pairs of hexadecimal digits with or without spaces.
func octets(_ text: String) -> [UInt8] {
  let digits = text.filter { $0 != " " }.map { UInt8($0.hexDigitValue!) }
  return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

/// Pairs of lowercase hexadecimal digits, parted by spaces.
func text(_ octets: some Sequence<UInt8>) -> String {
  octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ")
}

/// The PDUs that wait in a queue, as text, in order; the queue is empty afterwards.
func drain(_ queue: inout PDUQueue) -> [String] {
  var pdus: [String] = []
  var pdu: [UInt8] = []
  while !queue.isEmpty {
    queue.removeFirst(into: &pdu)
    pdus.append(text(pdu))
  }
  return pdus
}

/// The octets that a PDU is encoded as.
func encoded(limit: Int = 517, _ encode: (inout OutputRawSpan) -> Void) -> [UInt8] {
  var queue = PDUQueue()
  queue.append(limit: limit, encode)
  var pdu: [UInt8] = []
  queue.removeFirst(into: &pdu)
  return pdu
}

/// Numbers that a seed repeats: SplitMix64.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func octets(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
  }
}
