/// An invalid parameter of a link, with its legal range.
public struct LinkParameterFault: Error, Equatable, Sendable, CustomStringConvertible {
  /// The name of the parameter in an endpoint: `phy`, `interval`, `event-length`, `dle`, `per`,
  /// `packets`, `subrate`, `continuation`, `frame-space`, `links`, `mtu`, or an unknown one.
  public let parameter: String
  /// The legal values.
  public let expected: String
  /// The value that was found.
  public let found: String

  /// Creates a fault with these properties.
  public init(_ parameter: String, expected: String, found: String) {
    self.parameter = parameter
    self.expected = expected
    self.found = found
  }

  public var description: String {
    "invalid value \"\(found)\" for \(parameter): expected \(expected)"
  }
}

extension LinkParameters {
  /// Checks each parameter, and that a packet of full length fits an event.
  ///
  /// - Throws: ``LinkParameterFault`` for the first invalid parameter.
  public func check() throws(LinkParameterFault) {
    guard Self.intervalRange.contains(interval), interval % Self.intervalUnit == 0 else {
      throw LinkParameterFault(
        "interval", expected: Self.expectedInterval, found: Self.text(interval))
    }
    guard Self.subrateRange.contains(subrate) else {
      throw LinkParameterFault("subrate", expected: Self.expectedSubrate, found: "\(subrate)")
    }
    guard (0..<subrate).contains(continuation) else {
      throw LinkParameterFault(
        "continuation", expected: "a number from 0 to \(subrate - 1), less than subrate",
        found: "\(continuation)")
    }
    guard Self.frameSpaceRange.contains(frameSpace) else {
      throw LinkParameterFault(
        "frame-space", expected: Self.expectedFrameSpace, found: Self.text(frameSpace))
    }
    guard Self.linksRange.contains(links) else {
      throw LinkParameterFault("links", expected: Self.expectedLinks, found: "\(links)")
    }
    guard Self.dataLengthRange.contains(dataLength) else {
      throw LinkParameterFault("dle", expected: "27 to 251 octets", found: "\(dataLength)")
    }
    guard Self.packetErrorRateRange.contains(packetErrorRate) else {
      throw LinkParameterFault(
        "per", expected: "a share from 0 to 0.9, such as 0.01", found: "\(packetErrorRate)")
    }
    if let packetsPerEvent, !Self.packetsPerEventRange.contains(packetsPerEvent) {
      throw LinkParameterFault(
        "packets", expected: "1 to 10000 data packets an event", found: "\(packetsPerEvent)")
    }
    let needed = exchangeTime(payload: dataLength)
    guard needed <= interval else {
      // Rounded up to a legal interval.
      let least = (needed + Self.intervalUnit - 1) / Self.intervalUnit * Self.intervalUnit
      throw LinkParameterFault(
        "interval",
        expected: "\(Self.text(least)) to 4s, because a packet of \(dataLength) octets on "
          + "\(phy) and its reply take \(Self.text(needed)) (or a smaller dle)",
        found: Self.text(interval))
    }
    if let eventLength, eventLength < needed || eventLength > interval {
      throw LinkParameterFault(
        "event-length",
        expected: "\(Self.text(needed)) (one packet of \(dataLength) octets on "
          + "\(phy) and its reply) to \(Self.text(interval)) (the interval)",
        found: Self.text(eventLength))
    }
  }

  static let expectedInterval = "375us to 4s in steps of 125us"
  static let expectedSubrate = "a factor from 1 to 500"
  static let expectedLinks = "1 to 255 links"
  static let expectedFrameSpace = "a time from 0us to 10ms, such as 150us"

  /// A time as it is written: `15ms`, `7.5ms`, `1.392ms`.
  public static func text(_ nanoseconds: Int64) -> String {
    let whole = nanoseconds / 1_000_000
    var digits = String(nanoseconds % 1_000_000 + 1_000_000).dropFirst()
    while digits.last == "0" { digits.removeLast() }
    return digits.isEmpty ? "\(whole)ms" : "\(whole).\(digits)ms"
  }
}
