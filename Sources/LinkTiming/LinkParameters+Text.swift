extension LinkParameters {
  /// The names of what ``set(_:to:)`` takes.
  public static let names = [
    "phy", "interval", "event-length", "dle", "encrypted", "per", "packets",
  ]

  /// Reads `phy=2M&interval=15ms&dle=251`, each name once, and checks the whole.
  ///
  /// - Returns: the parameters, and what `seed=N` says (1 without).
  /// - Throws: ``LinkParameterFault`` for a name that is unknown or comes twice, a value that is
  ///   none, and parameters that do not go together.
  public static func reading(
    _ text: String
  ) throws(LinkParameterFault) -> (parameters: LinkParameters, seed: UInt64) {
    var parameters = LinkParameters()
    var seed: UInt64 = 1
    var seen: Set<String> = []
    for part in text.split(separator: "&", omittingEmptySubsequences: false) {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(pair[0])
      let value = pair.count > 1 ? String(pair[1]) : ""
      guard seen.insert(name).inserted else {
        throw LinkParameterFault(name, expected: "to be said once", found: "\(name) a second time")
      }
      if name == "seed" {
        guard let number = UInt64(value) else {
          throw LinkParameterFault(name, expected: "a number from 0", found: value)
        }
        seed = number
      } else {
        try parameters.set(name, to: value)
      }
    }
    try parameters.check()
    return (parameters, seed)
  }

  /// Sets one parameter as it is written in an endpoint or on a command line.
  ///
  /// Ranges that hang together are for ``check()``.
  ///
  /// - Throws: ``LinkParameterFault`` for a name that is unknown and a value that is none.
  public mutating func set(_ name: String, to value: String) throws(LinkParameterFault) {
    switch name {
    case "phy":
      let wanted = value.uppercased()
      guard let phy = PHY.allCases.first(where: { $0.rawValue == wanted }) else {
        throw LinkParameterFault(name, expected: "1M, 2M, S2 or S8", found: value)
      }
      self.phy = phy
    case "interval": interval = try Self.time(name, value, "7.5ms to 4s in steps of 1.25ms")
    case "event-length": eventLength = try Self.time(name, value, "a time up to the interval")
    case "dle":
      guard let length = Int(value) else {
        throw LinkParameterFault(name, expected: "27 to 251 octets", found: value)
      }
      dataLength = length
    case "encrypted":
      guard ["", "1", "true", "0", "false"].contains(value) else {
        throw LinkParameterFault(name, expected: "true or false", found: value)
      }
      isEncrypted = !["0", "false"].contains(value)
    case "per":
      guard let rate = Double(value) else {
        throw LinkParameterFault(
          name, expected: "a share from 0 to 0.9, such as 0.01", found: value)
      }
      packetErrorRate = rate
    case "packets":
      guard let count = Int(value) else {
        throw LinkParameterFault(
          name, expected: "1 to 10000 data packets an event", found: value)
      }
      packetsPerEvent = count
    default:
      throw LinkParameterFault(
        "the link", expected: "one of \(Self.names.joined(separator: ", "))", found: name)
    }
  }

  /// Reads `15ms`, `7.5ms`, `7500us`, `0.4s`; milliseconds without a unit.
  private static func time(
    _ name: String, _ text: String, _ expected: String
  ) throws(LinkParameterFault) -> Int64 {
    let units: [(String, Double)] = [("us", 1e3), ("ms", 1e6), ("s", 1e9)]
    let unit = units.first { text.hasSuffix($0.0) } ?? ("", 1e6)
    let number = text.dropLast(unit.0.count)
    guard number.first?.isNumber == true, let value = Double(number), value >= 0, value < 1e9 else {
      throw LinkParameterFault(name, expected: expected, found: text)
    }
    return Int64((value * unit.1).rounded())
  }
}

extension LinkParameters: CustomStringConvertible {
  /// As it is written in an endpoint.
  public var description: String {
    var parts = [
      "phy=\(phy.rawValue)", "interval=\(Self.text(interval))", "dle=\(dataLength)",
    ]
    if let eventLength { parts.append("event-length=\(Self.text(eventLength))") }
    if isEncrypted { parts.append("encrypted=true") }
    if packetErrorRate > 0 { parts.append("per=\(packetErrorRate)") }
    if let packetsPerEvent { parts.append("packets=\(packetsPerEvent)") }
    return parts.joined(separator: "&")
  }
}
