/// The first octet of a PDU. Vol 3, Part F, 3.3.1 and 3.4.8.
///
/// Any number is a valid opcode; unknown ones print as hex.
@frozen public struct Opcode: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt8

  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }
  /// Creates an opcode from its number.
  @inlinable public init(_ rawValue: UInt8) { self.rawValue = rawValue }

  /// Bit 6: a command, which has no response.
  @inlinable public var isCommand: Bool { rawValue & 0x40 != 0 }
  /// Bit 7: the PDU ends with an authentication signature.
  @inlinable public var isSigned: Bool { rawValue & 0x80 != 0 }

  /// Error Response. Vol 3, Part F, 3.4.1.1.
  public static let errorResponse = Opcode(0x01)
  /// Exchange MTU Request. Vol 3, Part F, 3.4.2.1.
  public static let exchangeMTURequest = Opcode(0x02)
  /// Exchange MTU Response. Vol 3, Part F, 3.4.2.2.
  public static let exchangeMTUResponse = Opcode(0x03)
  /// Find Information Request. Vol 3, Part F, 3.4.3.1.
  public static let findInformationRequest = Opcode(0x04)
  /// Find Information Response. Vol 3, Part F, 3.4.3.2.
  public static let findInformationResponse = Opcode(0x05)
  /// Find By Type Value Request. Vol 3, Part F, 3.4.3.3.
  public static let findByTypeValueRequest = Opcode(0x06)
  /// Find By Type Value Response. Vol 3, Part F, 3.4.3.4.
  public static let findByTypeValueResponse = Opcode(0x07)
  /// Read By Type Request. Vol 3, Part F, 3.4.4.1.
  public static let readByTypeRequest = Opcode(0x08)
  /// Read By Type Response. Vol 3, Part F, 3.4.4.2.
  public static let readByTypeResponse = Opcode(0x09)
  /// Read Request. Vol 3, Part F, 3.4.4.3.
  public static let readRequest = Opcode(0x0A)
  /// Read Response. Vol 3, Part F, 3.4.4.4.
  public static let readResponse = Opcode(0x0B)
  /// Read Blob Request. Vol 3, Part F, 3.4.4.5.
  public static let readBlobRequest = Opcode(0x0C)
  /// Read Blob Response. Vol 3, Part F, 3.4.4.6.
  public static let readBlobResponse = Opcode(0x0D)
  /// Read Multiple Request. Vol 3, Part F, 3.4.4.7.
  public static let readMultipleRequest = Opcode(0x0E)
  /// Read Multiple Response. Vol 3, Part F, 3.4.4.8.
  public static let readMultipleResponse = Opcode(0x0F)
  /// Read By Group Type Request. Vol 3, Part F, 3.4.4.9.
  public static let readByGroupTypeRequest = Opcode(0x10)
  /// Read By Group Type Response. Vol 3, Part F, 3.4.4.10.
  public static let readByGroupTypeResponse = Opcode(0x11)
  /// Write Request. Vol 3, Part F, 3.4.5.1.
  public static let writeRequest = Opcode(0x12)
  /// Write Response. Vol 3, Part F, 3.4.5.2.
  public static let writeResponse = Opcode(0x13)
  /// Prepare Write Request. Vol 3, Part F, 3.4.6.1.
  public static let prepareWriteRequest = Opcode(0x16)
  /// Prepare Write Response. Vol 3, Part F, 3.4.6.2.
  public static let prepareWriteResponse = Opcode(0x17)
  /// Execute Write Request. Vol 3, Part F, 3.4.6.3.
  public static let executeWriteRequest = Opcode(0x18)
  /// Execute Write Response. Vol 3, Part F, 3.4.6.4.
  public static let executeWriteResponse = Opcode(0x19)
  /// Handle Value Notification. Vol 3, Part F, 3.4.7.1.
  public static let handleValueNotification = Opcode(0x1B)
  /// Handle Value Indication. Vol 3, Part F, 3.4.7.2.
  public static let handleValueIndication = Opcode(0x1D)
  /// Handle Value Confirmation. Vol 3, Part F, 3.4.7.3.
  public static let handleValueConfirmation = Opcode(0x1E)
  /// Read Multiple Variable Request. Vol 3, Part F, 3.4.4.11.
  public static let readMultipleVariableRequest = Opcode(0x20)
  /// Read Multiple Variable Response. Vol 3, Part F, 3.4.4.12.
  public static let readMultipleVariableResponse = Opcode(0x21)
  /// Multiple Handle Value Notification. Vol 3, Part F, 3.4.7.4.
  public static let multipleHandleValueNotification = Opcode(0x23)
  /// Write Command. Vol 3, Part F, 3.4.5.3.
  public static let writeCommand = Opcode(0x52)
  /// Signed Write Command. Vol 3, Part F, 3.4.5.4.
  public static let signedWriteCommand = Opcode(0xD2)

  /// The response to this request; nil if this is not a known request.
  public var response: Opcode? {
    switch rawValue {
    case 0x02, 0x04, 0x06, 0x08, 0x0A, 0x0C, 0x0E, 0x10, 0x12, 0x16, 0x18, 0x20:
      Opcode(rawValue &+ 1)
    default: nil
    }
  }
}

extension Opcode: CustomStringConvertible {
  /// The specification's name with the number: `Read Request (0x0A)`; `opcode 0x7F` if unknown.
  public var description: String {
    guard let name else { return "opcode 0x" + Hex.digits(rawValue) }
    return name + " (0x" + Hex.digits(rawValue) + ")"
  }
}
