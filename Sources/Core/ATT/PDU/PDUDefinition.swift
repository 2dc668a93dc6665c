/// What the specification says of one kind of PDU: the one table of names and forms.
/// Vol 3, Part F, 3.4.
///
/// The decoder does not use the table, because a loop over fields costs more than its own checks.
/// A test compares the two.
package struct PDUDefinition: Sendable {
  package let opcode: Opcode
  /// The specification's name.
  package let name: String
  package var kind: Opcode.Kind { opcode.kind }
  /// The section of Vol 3, Part F.
  package let section: String
  /// The fields of fixed length after the opcode.
  package let fields: [Field]
  /// What follows the fields.
  package let tail: Tail

  private init(
    _ opcode: UInt8, _ name: String, _ section: String, _ fields: [Field],
    _ tail: Tail = .nothing
  ) {
    self.opcode = Opcode(opcode)
    self.name = name
    self.section = section
    self.fields = fields
    self.tail = tail
  }

  /// A field of fixed length.
  package enum Field: Sendable {
    case requestOpcode, errorCode, clientMTU, serverMTU, startingHandle, endingHandle, handle
    case type, offset, flags, format, length

    /// In octets.
    package var length: Int {
      switch self {
      case .requestOpcode, .errorCode, .flags, .format, .length: 1
      case .clientMTU, .serverMTU, .startingHandle, .endingHandle, .handle, .type, .offset: 2
      }
    }
  }

  /// What follows the fields, up to the end of the PDU.
  package enum Tail: Equatable, Sendable {
    case nothing
    /// Any number of octets.
    case value
    /// A UUID of 2 or 16 octets.
    case type
    /// Two or more handles.
    case handles
    /// Handles with types. The format before them gives the width of the types.
    case attributes
    /// One or more pairs of handles.
    case ranges
    /// One or more entries of the length before them, with at least this many octets each.
    case entries(minimumLength: Int)
    /// A value, then a signature of 12 octets.
    case signedValue
    /// Two or more values, each after its length. The last one may be cut.
    case valuesWithLengths
    /// Two or more values, each after its handle and length.
    case handlesWithValues
  }

  /// The length in octets of a well-formed PDU, for people. nil if it depends on octets of the PDU.
  package var expectedLength: String? {
    let fixed = fields.reduce(1) { $0 + $1.length }
    return switch tail {
    case .nothing: "\(fixed)"
    case .value: "at least \(fixed)"
    case .type: "\(fixed + 2) or \(fixed + 16)"
    case .handles: "an odd number from \(fixed + 4)"
    case .ranges: "\(fixed + 4), or more by a multiple of 4"
    case .signedValue: "at least \(fixed + 12)"
    case .attributes, .entries, .valuesWithLengths, .handlesWithValues: nil
    }
  }

  /// All PDUs, in the order of their opcodes.
  package static let all: [PDUDefinition] = [
    .init(
      0x01, "Error Response", "3.4.1.1", [.requestOpcode, .handle, .errorCode]),
    .init(0x02, "Exchange MTU Request", "3.4.2.1", [.clientMTU]),
    .init(0x03, "Exchange MTU Response", "3.4.2.2", [.serverMTU]),
    .init(
      0x04, "Find Information Request", "3.4.3.1", [.startingHandle, .endingHandle]),
    .init(0x05, "Find Information Response", "3.4.3.2", [.format], .attributes),
    .init(
      0x06, "Find By Type Value Request", "3.4.3.3",
      [.startingHandle, .endingHandle, .type], .value),
    .init(0x07, "Find By Type Value Response", "3.4.3.4", [], .ranges),
    .init(
      0x08, "Read By Type Request", "3.4.4.1", [.startingHandle, .endingHandle], .type),
    .init(
      0x09, "Read By Type Response", "3.4.4.2", [.length], .entries(minimumLength: 2)),
    .init(0x0A, "Read Request", "3.4.4.3", [.handle]),
    .init(0x0B, "Read Response", "3.4.4.4", [], .value),
    .init(0x0C, "Read Blob Request", "3.4.4.5", [.handle, .offset]),
    .init(0x0D, "Read Blob Response", "3.4.4.6", [], .value),
    .init(0x0E, "Read Multiple Request", "3.4.4.7", [], .handles),
    .init(0x0F, "Read Multiple Response", "3.4.4.8", [], .value),
    .init(
      0x10, "Read By Group Type Request", "3.4.4.9", [.startingHandle, .endingHandle],
      .type),
    .init(
      0x11, "Read By Group Type Response", "3.4.4.10", [.length],
      .entries(minimumLength: 4)),
    .init(0x12, "Write Request", "3.4.5.1", [.handle], .value),
    .init(0x13, "Write Response", "3.4.5.2", []),
    .init(0x16, "Prepare Write Request", "3.4.6.1", [.handle, .offset], .value),
    .init(0x17, "Prepare Write Response", "3.4.6.2", [.handle, .offset], .value),
    .init(0x18, "Execute Write Request", "3.4.6.3", [.flags]),
    .init(0x19, "Execute Write Response", "3.4.6.4", []),
    .init(0x1B, "Handle Value Notification", "3.4.7.1", [.handle], .value),
    .init(0x1D, "Handle Value Indication", "3.4.7.2", [.handle], .value),
    .init(0x1E, "Handle Value Confirmation", "3.4.7.3", []),
    .init(0x20, "Read Multiple Variable Request", "3.4.4.11", [], .handles),
    .init(
      0x21, "Read Multiple Variable Response", "3.4.4.12", [], .valuesWithLengths),
    .init(
      0x23, "Multiple Handle Value Notification", "3.4.7.4", [],
      .handlesWithValues),
    .init(0x52, "Write Command", "3.4.5.3", [.handle], .value),
    .init(0xD2, "Signed Write Command", "3.4.5.4", [.handle], .signedValue),
  ]
}

extension Opcode {
  /// The PDU of this opcode; nil for an opcode of no PDU.
  package var definition: PDUDefinition? { PDUDefinition.all.first { $0.opcode == self } }

  /// Every opcode of the specification, in order of number.
  public static var all: [Opcode] { PDUDefinition.all.map { $0.opcode } }

  /// The specification's name, or nil if the opcode is unknown.
  public var name: String? { definition?.name }

  /// How the bearer treats a PDU of this opcode.
  public var kind: Kind { knownKind ?? (isCommand ? .command : .request) }

  /// The kind; nil for an opcode of no PDU. This is no lookup in the table of all PDUs, because the C
  /// library leaves the table out.
  var knownKind: Kind? {
    switch rawValue {
    case 0x02, 0x04, 0x06, 0x08, 0x0A, 0x0C, 0x0E, 0x10, 0x12, 0x16, 0x18, 0x20: .request
    case 0x01, 0x03, 0x05, 0x07, 0x09, 0x0B, 0x0D, 0x0F, 0x11, 0x13, 0x17, 0x19, 0x21: .response
    case 0x1B, 0x23: .notification
    case 0x1D: .indication
    case 0x1E: .confirmation
    case 0x52, 0xD2: .command
    default: nil
    }
  }

  /// The kinds of PDU. Vol 3, Part F, 3.3. An unknown opcode is a command if its bit 6 is set and a
  /// request if not, because that decides whether it is answered.
  public enum Kind: Sendable {
    /// A kind of PDU.
    case request, response, command, notification, indication, confirmation
  }
}
