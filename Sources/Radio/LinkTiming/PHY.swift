/// The physical layer of an LE link. Vol 6, Part A, 3.1 to 3.3.
public enum PHY: String, Sendable, CaseIterable {
  /// LE 1M: 1 Mb/s, uncoded.
  case le1M = "1M"
  /// LE 2M: 2 Mb/s, uncoded.
  case le2M = "2M"
  /// LE Coded with two symbols per bit: 500 kb/s.
  case codedS2 = "S2"
  /// LE Coded with eight symbols per bit: 125 kb/s.
  case codedS8 = "S8"

  /// The air time of a data packet in nanoseconds. Vol 6, Part B, 2.1 and 2.2.
  ///
  /// Besides the payload there are preamble (1 octet, 2 on 2M), access address (4), header (2) and
  /// CRC (3). The coded PHYs send preamble, access address, coding indicator and a first
  /// terminator in 376 us at any rate, then header, payload, CRC and three terminating bits.
  ///
  /// - Parameters:
  ///   - payload: the length of the payload in octets, 0 to 251, without the MIC.
  ///   - isEncrypted: whether a MIC of four octets follows a payload that is not empty. Vol 6, Part
  ///     B, 2.4.
  public func airTime(payload: Int, isEncrypted: Bool) -> Int64 {
    let octets = Int64(payload) + (isEncrypted && payload > 0 ? 4 : 0)
    let microseconds: Int64 =
      switch self {
      case .le1M: 8 * (10 + octets)
      case .le2M: 4 * (11 + octets)
      case .codedS2: 376 + 2 * (8 * (5 + octets) + 3)
      case .codedS8: 376 + 8 * (8 * (5 + octets) + 3)
      }
    return microseconds * 1000
  }
}
