import ATT

/// The form of a PDU: the fields after its opcode, and what may follow them. Vol 3, Part F, 3.4.
struct PDUShape {
  let section: String
  let fields: [(name: String, length: Int)]
  let tail: Tail

  enum Tail {
    case nothing
    /// Any octets, or none.
    case value
    /// A UUID of 2 or 16 octets.
    case type
    /// Two handles or more.
    case handles
    /// Handles with types, of the width that the field before says.
    case attributes
    /// Pairs of handles.
    case ranges
    /// Entries of the length that the field before says, with this many octets before the value.
    case entries(least: Int)
    /// A value, then the signature.
    case signed
    /// Two or more of what has at least so many octets.
    case two(least: Int, what: String)
  }

  private init(_ section: String, _ fields: [(name: String, length: Int)], _ tail: Tail) {
    (self.section, self.fields, self.tail) = (section, fields, tail)
  }

  /// nil for an opcode of no PDU.
  init?(_ opcode: Opcode) {
    let handle = ("handle", 2)
    let offset = ("offset", 2)
    let range = [("starting handle", 2), ("ending handle", 2)]
    switch opcode {
    case .errorResponse:
      self.init(
        "3.4.1.1", [("opcode of the request", 1), handle, ("error code", 1)], .nothing)
    case .exchangeMTURequest: self.init("3.4.2.1", [("client's MTU", 2)], .nothing)
    case .exchangeMTUResponse: self.init("3.4.2.2", [("server's MTU", 2)], .nothing)
    case .findInformationRequest: self.init("3.4.3.1", range, .nothing)
    case .findInformationResponse: self.init("3.4.3.2", [("format", 1)], .attributes)
    case .findByTypeValueRequest: self.init("3.4.3.3", range + [("type", 2)], .value)
    case .findByTypeValueResponse: self.init("3.4.3.4", [], .ranges)
    case .readByTypeRequest: self.init("3.4.4.1", range, .type)
    case .readByTypeResponse: self.init("3.4.4.2", [("length", 1)], .entries(least: 2))
    case .readRequest: self.init("3.4.4.3", [handle], .nothing)
    case .readResponse: self.init("3.4.4.4", [], .value)
    case .readBlobRequest: self.init("3.4.4.5", [handle, offset], .nothing)
    case .readBlobResponse: self.init("3.4.4.6", [], .value)
    case .readMultipleRequest: self.init("3.4.4.7", [], .handles)
    case .readMultipleResponse: self.init("3.4.4.8", [], .value)
    case .readByGroupTypeRequest: self.init("3.4.4.9", range, .type)
    case .readByGroupTypeResponse: self.init("3.4.4.10", [("length", 1)], .entries(least: 4))
    case .readMultipleVariableRequest: self.init("3.4.4.11", [], .handles)
    case .readMultipleVariableResponse:
      self.init("3.4.4.12", [], .two(least: 2, what: "lengths with values"))
    case .writeRequest: self.init("3.4.5.1", [handle], .value)
    case .writeResponse: self.init("3.4.5.2", [], .nothing)
    case .writeCommand: self.init("3.4.5.3", [handle], .value)
    case .signedWriteCommand: self.init("3.4.5.4", [handle], .signed)
    case .prepareWriteRequest: self.init("3.4.6.1", [handle, offset], .value)
    case .prepareWriteResponse: self.init("3.4.6.2", [handle, offset], .value)
    case .executeWriteRequest: self.init("3.4.6.3", [("flags", 1)], .nothing)
    case .executeWriteResponse: self.init("3.4.6.4", [], .nothing)
    case .handleValueNotification: self.init("3.4.7.1", [handle], .value)
    case .handleValueIndication: self.init("3.4.7.2", [handle], .value)
    case .handleValueConfirmation: self.init("3.4.7.3", [], .nothing)
    case .multipleHandleValueNotification:
      self.init("3.4.7.4", [], .two(least: 4, what: "handles with lengths and values"))
    default: return nil
    }
  }

  typealias Fault = (octet: Int, text: String)

  /// The first octet that is not as the form wants it.
  func fault(in octets: [UInt8]) -> Fault? {
    var at = 1
    for field in fields {
      if let fault = missing(field.name, field.length, at, octets) { return fault }
      at += field.length
    }
    return fault(at, octets)
  }

  /// Whether so many octets are there; at least one of the PDU is not, if this is no nil.
  private func missing(_ name: String, _ length: Int, _ at: Int, _ octets: [UInt8]) -> Fault? {
    let there = octets.count - at
    guard there < length else { return nil }
    let wanted = length == 1 ? "1 octet" : "\(length) octets"
    return (
      octets.count,
      there == 0
        ? "the \(name) (\(wanted)) is missing"
        : "the \(name) is cut: \(there) of its \(wanted) \(there == 1 ? "is" : "are") there"
    )
  }

  private func fault(_ at: Int, _ octets: [UInt8]) -> Fault? {
    let rest = octets.count - at
    switch tail {
    case .nothing:
      return rest == 0
        ? nil
        : (
          at,
          "the PDU ends here, and \(rest) more \(rest == 1 ? "octet is" : "octets are")"
            + " there"
        )
    case .value: return nil
    case .type:
      if rest == 0 { return missing("type", 2, at, octets) }
      return rest == 2 || rest == 16
        ? nil : (at, "a type has 2 octets or 16, not \(rest)")
    case .handles:
      if rest < 4 { return (octets.count, "two handles or more are wanted") }
      return rest % 2 == 0
        ? nil : (octets.count - 1, "the last handle is cut: 1 of its 2 octets is there")
    case .ranges: return list(of: 4, at, octets, "pair of handles")
    case .attributes:
      guard octets[1] == 1 || octets[1] == 2 else {
        return (1, "the format is 1 or 2, not \(octets[1])")
      }
      return list(
        of: octets[1] == 1 ? 4 : 18, at, octets,
        "handle with its type of \(octets[1] == 1 ? 2 : 16) octets")
    case .entries(let least):
      guard octets[1] >= least else {
        return (1, "each entry has \(least) octets or more, not \(octets[1])")
      }
      // Its form is decided by octets that are there in any case.
      return list(of: Int(octets[1]), at, octets, "entry of \(octets[1]) octets")
    case .signed: return missing("signature", 12, max(at, octets.count - 12), octets)
    case .two(let least, let what):
      return rest >= 2 * least
        ? nil
        : (octets.count, "two \(what) or more are wanted, which have \(2 * least) octets or more")
    }
  }

  /// One or more of this length.
  private func list(of length: Int, _ at: Int, _ octets: [UInt8], _ what: String) -> Fault? {
    let rest = octets.count - at
    if rest == 0 { return (at, "not one \(what) is there") }
    let over = rest % length
    guard over != 0 else { return nil }
    return (
      octets.count - over,
      "the last \(what) is cut: \(over) of its \(length) octets \(over == 1 ? "is" : "are") there"
    )
  }
}
