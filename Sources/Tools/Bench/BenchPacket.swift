import AttoFormats

/// A packet of the scenarios, in the format of Bumble's benchmark (`bumble-bench`): a type, flags, and a
/// number and a time in four octets each, little-endian.
///
/// Two additions, which Bumble ignores: the flag 0x02 says that a value ends with a ``CheckSum``, and the
/// acknowledgement of such a value has a ``Report``.
enum BenchPacket: Equatable, Sendable {
  /// Begins a run.
  case reset
  /// A numbered value.
  case sequence(number: UInt32, isLast: Bool, isChecked: Bool)
  case acknowledgement(number: UInt32, isLast: Bool, Report?)

  /// What the receiver of a run counted, at its last value.
  struct Report: Equatable, Sendable {
    var received: UInt32
    var damaged: UInt32
    var cpuMicroseconds: UInt32
  }

  /// The octets before the content of a value.
  static let headerLength = 10
  /// The shortest value with a check sum.
  static let shortestChecked = headerLength + CheckSum.length
  private static let acknowledgementLength = 6

  /// Decodes a packet. Returns nil if it is malformed or its check sum is wrong.
  init?(_ octets: RawSpan) {
    func octet(_ index: Int) -> UInt8 { octets.unsafeLoad(fromByteOffset: index, as: UInt8.self) }
    func number(_ index: Int) -> UInt32 {
      (0..<4).reduce(0) { $0 | UInt32(octet(index + $1)) << (8 * UInt32($1)) }
    }
    guard octets.byteCount > 0 else { return nil }
    switch octet(0) {
    case 0: self = .reset
    case 1 where octets.byteCount >= Self.headerLength:
      let isChecked = octet(1) & 2 != 0
      guard !isChecked || octets.byteCount >= Self.shortestChecked && CheckSum.isCorrect(octets)
      else {
        return nil
      }
      self = .sequence(number: number(2), isLast: octet(1) & 1 != 0, isChecked: isChecked)
    case 2 where octets.byteCount >= Self.acknowledgementLength:
      var report: Report?
      if octet(1) & 2 != 0, octets.byteCount >= Self.acknowledgementLength + 12 {
        report = Report(received: number(6), damaged: number(10), cpuMicroseconds: number(14))
      }
      self = .acknowledgement(number: number(2), isLast: octet(1) & 1 != 0, report)
    default: return nil
    }
  }

  var octets: [UInt8] {
    switch self {
    case .reset: return [0]
    case .sequence(let number, let isLast, _):
      var value = [UInt8](repeating: 0, count: Self.headerLength)
      Self.fill(&value, number: number, isLast: isLast, microseconds: 0)
      return value
    case .acknowledgement(let number, let isLast, let report):
      let flags: UInt8 = (isLast ? 1 : 0) | (report != nil ? 2 : 0)
      let numbers = [number] + (report.map { [$0.received, $0.damaged, $0.cpuMicroseconds] } ?? [])
      return [2, flags]
        + numbers.flatMap { number in
          (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * UInt32($0))) }
        }
    }
  }

  /// Makes a value of octets, at least ``headerLength``. It gets a check sum if there is room for one.
  static func fill(_ value: inout [UInt8], number: UInt32, isLast: Bool, microseconds: UInt32) {
    let isChecked = value.count >= shortestChecked
    value[0] = 1
    value[1] = (isLast ? 1 : 0) | (isChecked ? 2 : 0)
    for index in 0..<4 {
      value[2 + index] = UInt8(truncatingIfNeeded: number >> (8 * UInt32(index)))
      value[6 + index] = UInt8(truncatingIfNeeded: microseconds >> (8 * UInt32(index)))
    }
    if isChecked { CheckSum.complete(&value) }
  }
}
