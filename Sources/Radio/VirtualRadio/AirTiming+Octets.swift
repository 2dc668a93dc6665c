import AttoLinkTiming
import AttoRadio

extension AirTiming {
  /// The timing of the other end: the same, with the seed of its own direction.
  var mirrored: AirTiming { AirTiming(parameters, seed: ~seed) }
  static let length = 30

  /// The encoded timing, least significant octets first: PHY (1), interval in 125 us (2),
  /// event length in microseconds or 0 (4), data length (1), encryption and scheduling as bits (1),
  /// error rate in millionths (4), packets of an event or 0 (2), subrate factor (2), continuation
  /// number (2), frame space in microseconds (2), links (1), seed (8).
  var octets: [UInt8] {
    func number(_ value: Int64, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * Int64($0))) }
    }
    let phy = PHY.allCases.firstIndex(of: parameters.phy) ?? 0
    return [UInt8(phy)] + number(parameters.interval / LinkParameters.intervalUnit, 2)
      + number((parameters.eventLength ?? 0) / 1000, 4) + [UInt8(clamping: parameters.dataLength)]
      + [(parameters.isEncrypted ? 1 : 0) | (parameters.scheduling == .exact ? 2 : 0)]
      + number(Int64((parameters.packetErrorRate * 1e6).rounded()), 4)
      + number(Int64(parameters.packetsPerEvent ?? 0), 2) + number(Int64(parameters.subrate), 2)
      + number(Int64(parameters.continuation), 2) + number(parameters.frameSpace / 1000, 2)
      + [UInt8(clamping: parameters.links)] + number(Int64(bitPattern: seed), 8)
  }

  /// Decodes a timing; nil if it is malformed or out of range.
  init?(octets: [UInt8]) {
    guard octets.count == Self.length, Int(octets[0]) < PHY.allCases.count, octets[8] < 4
    else { return nil }
    func number(_ range: Range<Int>) -> Int64 {
      Int64(bitPattern: octets[range].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
    let eventLength = number(3..<7)
    let packets = number(13..<15)
    let parameters = LinkParameters(
      phy: PHY.allCases[Int(octets[0])], interval: number(1..<3) * LinkParameters.intervalUnit,
      eventLength: eventLength == 0 ? nil : eventLength * 1000, dataLength: Int(octets[7]),
      isEncrypted: octets[8] & 1 != 0, packetErrorRate: Double(number(9..<13)) / 1e6,
      packetsPerEvent: packets == 0 ? nil : Int(packets), subrate: Int(number(15..<17)),
      continuation: Int(number(17..<19)), frameSpace: number(19..<21) * 1000,
      links: Int(octets[21]),
      scheduling: octets[8] & 2 != 0 ? .exact : .reserving)
    guard (try? parameters.check()) != nil else { return nil }
    self.init(parameters, seed: UInt64(bitPattern: number(22..<30)))
  }
}
