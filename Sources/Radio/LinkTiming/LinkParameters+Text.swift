extension LinkParameters {
  /// The names of the parameters of ``set(_:to:)``.
  public static let names = [
    "phy", "interval", "event-length", "dle", "encrypted", "per", "packets", "subrate",
    "continuation", "frame-space", "links",
  ]

  /// Parses and checks a text such as `phy=2M&interval=15ms&dle=251`, with each name at most once.
  ///
  /// - Returns: the parameters, and the number of `seed=N`, which is 1 by default.
  /// - Throws: ``LinkParameterFault`` for an unknown or repeated name, an invalid value, and
  ///   parameters that contradict each other.
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
        throw LinkParameterFault(name, expected: "only one value", found: value)
      }
      if name == "seed" {
        seed = try require(UInt64(value), name, "a number from 0", value)
      } else {
        try parameters.set(name, to: value)
      }
    }
    try parameters.check()
    return (parameters, seed)
  }

  /// Sets one parameter from its text in an endpoint or on a command line.
  ///
  /// ``check()`` checks ranges that depend on several parameters.
  ///
  /// - Throws: ``LinkParameterFault`` for an unknown name and an invalid value.
  public mutating func set(_ name: String, to value: String) throws(LinkParameterFault) {
    switch name {
    case "phy":
      phy = try Self.require(PHY(value), name, "1M, 2M, S2 or S8", value)
    case "interval": interval = try Self.time(name, value, Self.expectedInterval)
    case "subrate":
      subrate = try Self.require(Int(value), name, Self.expectedSubrate, value)
    case "continuation":
      continuation = try Self.require(Int(value), name, "a number less than subrate", value)
    case "links": links = try Self.require(Int(value), name, Self.expectedLinks, value)
    case "frame-space": frameSpace = try Self.time(name, value, Self.expectedFrameSpace)
    case "event-length": eventLength = try Self.time(name, value, "a time up to the interval")
    case "dle":
      dataLength = try Self.require(Int(value), name, "27 to 251 octets", value)
    case "encrypted":
      guard ["", "1", "true", "0", "false"].contains(value) else {
        throw LinkParameterFault(name, expected: "true or false", found: value)
      }
      isEncrypted = !["0", "false"].contains(value)
    case "per":
      packetErrorRate = try Self.require(
        Double(value), name, "a share from 0 to 0.9, such as 0.01", value)
    case "packets":
      packetsPerEvent = try Self.require(
        Int(value), name, "1 to 10000 data packets an event", value)
    default:
      throw LinkParameterFault(
        "the link", expected: "one of \(Self.names.joined(separator: ", "))", found: name)
    }
  }

  private static func require<Value>(
    _ parsed: Value?, _ name: String, _ expected: String, _ text: String
  ) throws(LinkParameterFault) -> Value {
    guard let parsed else { throw LinkParameterFault(name, expected: expected, found: text) }
    return parsed
  }

  private static func time(
    _ name: String, _ text: String, _ expected: String
  ) throws(LinkParameterFault) -> Int64 {
    try require(nanoseconds(text), name, expected, text)
  }

  /// Parses `15ms`, `7.5ms`, `7500us`, `0.4s`; milliseconds without a unit. Less than 10^9 of the unit.
  package static func nanoseconds(_ text: String) -> Int64? {
    let units: [(String, Double)] = [("us", 1e3), ("ms", 1e6), ("s", 1e9)]
    let unit = units.first { text.hasSuffix($0.0) } ?? ("", 1e6)
    let number = text.dropLast(unit.0.count)
    guard number.first?.isNumber == true, let value = Double(number), value >= 0, value < 1e9 else {
      return nil
    }
    return Int64((value * unit.1).rounded())
  }
}

extension LinkParameters: CustomStringConvertible {
  /// The text in an endpoint.
  public var description: String {
    var parts = [
      "phy=\(phy)", "interval=\(Self.text(interval))", "dle=\(dataLength)",
    ]
    if let eventLength { parts.append("event-length=\(Self.text(eventLength))") }
    if isEncrypted { parts.append("encrypted=true") }
    if packetErrorRate > 0 { parts.append("per=\(packetErrorRate)") }
    if let packetsPerEvent { parts.append("packets=\(packetsPerEvent)") }
    if subrate != 1 { parts.append("subrate=\(subrate)") }
    if continuation != 0 { parts.append("continuation=\(continuation)") }
    if frameSpace != Self.usualFrameSpace { parts.append("frame-space=\(Self.text(frameSpace))") }
    if links != 1 { parts.append("links=\(links)") }
    return parts.joined(separator: "&")
  }
}
