/// The physical layer of an LE link, as far as time is concerned. Vol 6, Part A, 3.1 to 3.3.
///
/// A new PHY is a row of ``allCases``.
public struct PHY: Hashable, Sendable, CaseIterable, CustomStringConvertible {
  /// The name in an endpoint and on a command line.
  public let name: String
  /// The air time of a packet without its payload, in nanoseconds. Vol 6, Part B, 2.1 and 2.2.
  let overhead: Int64
  /// The air time of an octet of the payload, in nanoseconds.
  let octet: Int64

  /// LE 1M: preamble (1 octet), access address (4), header (2) and CRC (3), at 1 Mb/s.
  public static let le1M = PHY(name: "1M", overhead: 8_000 * 10, octet: 8_000)
  /// LE 2M: the same with two octets of preamble, at 2 Mb/s.
  public static let le2M = PHY(name: "2M", overhead: 4_000 * 11, octet: 4_000)
  /// LE Coded with two symbols per bit, 500 kb/s: 376 us for preamble, access address, coding
  /// indicator and a terminator at any rate, then header, CRC and three terminating bits.
  public static let codedS2 = PHY(name: "S2", overhead: 376_000 + 2_000 * 43, octet: 16_000)
  /// LE Coded with eight symbols per bit, 125 kb/s.
  public static let codedS8 = PHY(name: "S8", overhead: 376_000 + 8_000 * 43, octet: 64_000)

  public static let allCases = [le1M, le2M, codedS2, codedS8]

  private init(name: String, overhead: Int64, octet: Int64) {
    self.name = name
    self.overhead = overhead
    self.octet = octet
  }

  /// The PHY with this name in either case; nil if there is none.
  public init?(_ name: String) {
    let name = name.uppercased()
    guard let phy = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = phy
  }

  /// The name.
  public var description: String { name }

  /// The air time of a data packet in nanoseconds.
  ///
  /// - Parameters:
  ///   - payload: the length of the payload in octets, 0 to 251, without the MIC.
  ///   - isEncrypted: whether a MIC of four octets follows a payload that is not empty. Vol 6, Part
  ///     B, 2.4.
  public func airTime(payload: Int, isEncrypted: Bool) -> Int64 {
    overhead + octet * (Int64(payload) + (isEncrypted && payload > 0 ? 4 : 0))
  }
}
