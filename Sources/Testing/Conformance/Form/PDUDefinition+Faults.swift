import AttoATT

// The first mistake in the form of a PDU.

extension PDUDefinition {
  typealias Fault = (octet: Int, text: String)

  func fault(in octets: [UInt8]) -> Fault? {
    var at = 1
    for field in fields {
      if let fault = missing(field.text, field.length, at, octets) { return fault }
      at += field.length
    }
    return fault(at, octets)
  }

  private func missing(_ name: String, _ length: Int, _ at: Int, _ octets: [UInt8]) -> Fault? {
    let count = octets.count - at
    guard count < length else { return nil }
    let unit = length == 1 ? "octet" : "octets"
    return (
      octets.count,
      count == 0
        ? "the \(name) (\(length) \(unit)) is missing"
        : "the \(name) is truncated: \(count) of \(length) \(unit)"
    )
  }

  private func fault(_ at: Int, _ octets: [UInt8]) -> Fault? {
    let rest = octets.count - at
    switch tail {
    case .nothing:
      return rest == 0
        ? nil : (at, "the PDU is too long by \(rest) \(rest == 1 ? "octet" : "octets")")
    case .value: return nil
    case .type:
      if rest == 0 { return missing("type", 2, at, octets) }
      return rest == 2 || rest == 16 ? nil : (at, "a type must have 2 or 16 octets, not \(rest)")
    case .handles:
      if rest < 4 { return (octets.count, "at least two handles are required") }
      return rest % 2 == 0 ? nil : (octets.count - 1, "the last handle is truncated: 1 of 2 octets")
    case .ranges: return list(of: 4, at, octets, "pair of handles")
    case .attributes:
      guard octets[1] == 1 || octets[1] == 2 else {
        return (1, "the format must be 1 or 2, not \(octets[1])")
      }
      return list(
        of: octets[1] == 1 ? 4 : 18, at, octets,
        "handle with its type of \(octets[1] == 1 ? 2 : 16) octets")
    case .entries(let minimum):
      guard octets[1] >= minimum else {
        return (1, "an entry must have at least \(minimum) octets, not \(octets[1])")
      }
      return list(of: Int(octets[1]), at, octets, "entry of \(octets[1]) octets")
    case .signedValue: return missing("signature", 12, max(at, octets.count - 12), octets)
    case .valuesWithLengths: return two("lengths with values", of: 2, octets)
    case .handlesWithValues: return two("handles with lengths and values", of: 4, octets)
    }
  }

  private func two(_ name: String, of length: Int, _ octets: [UInt8]) -> Fault? {
    octets.count - 1 >= 2 * length
      ? nil : (octets.count, "at least two \(name) are required, in \(2 * length) octets or more")
  }

  private func list(of length: Int, _ at: Int, _ octets: [UInt8], _ name: String) -> Fault? {
    let rest = octets.count - at
    if rest == 0 { return (at, "at least one \(name) is required") }
    let over = rest % length
    guard over != 0 else { return nil }
    return (octets.count - over, "the last \(name) is truncated: \(over) of \(length) octets")
  }
}

extension PDUDefinition.Field {
  fileprivate var text: String {
    switch self {
    case .requestOpcode: "opcode of the request"
    case .errorCode: "error code"
    case .clientMTU: "client's MTU"
    case .serverMTU: "server's MTU"
    case .startingHandle: "starting handle"
    case .endingHandle: "ending handle"
    case .handle: "handle"
    case .type: "type"
    case .offset: "offset"
    case .flags: "flags"
    case .format: "format"
    case .length: "length"
    }
  }
}
