/// A received PDU: a view that borrows the receive buffer. Vol 3, Part F, 3.3.
///
/// Decoding never fails. A PDU without the form of its opcode is ``malformed(_:)``; one with an
/// unknown opcode is ``unknown(_:_:)``. The length of all others has been checked, so that their
/// accessors cannot fail.
public enum PDU: ~Escapable {
  /// Error Response. Vol 3, Part F, 3.4.1.1.
  case errorResponse(ErrorResponse)
  /// Exchange MTU Request. Vol 3, Part F, 3.4.2.1.
  case exchangeMTURequest(ExchangeMTURequest)
  /// Exchange MTU Response. Vol 3, Part F, 3.4.2.2.
  case exchangeMTUResponse(ExchangeMTUResponse)
  /// Find Information Request. Vol 3, Part F, 3.4.3.1.
  case findInformationRequest(FindInformationRequest)
  /// Find Information Response. Vol 3, Part F, 3.4.3.2.
  case findInformationResponse(FindInformationResponse)
  /// Find By Type Value Request. Vol 3, Part F, 3.4.3.3.
  case findByTypeValueRequest(FindByTypeValueRequest)
  /// Find By Type Value Response. Vol 3, Part F, 3.4.3.4.
  case findByTypeValueResponse(FindByTypeValueResponse)
  /// Read By Type Request. Vol 3, Part F, 3.4.4.1.
  case readByTypeRequest(ReadByTypeRequest)
  /// Read By Type Response. Vol 3, Part F, 3.4.4.2.
  case readByTypeResponse(ReadByTypeResponse)
  /// Read Request. Vol 3, Part F, 3.4.4.3.
  case readRequest(ReadRequest)
  /// Read Response. Vol 3, Part F, 3.4.4.4.
  case readResponse(ReadResponse)
  /// Read Blob Request. Vol 3, Part F, 3.4.4.5.
  case readBlobRequest(ReadBlobRequest)
  /// Read Blob Response. Vol 3, Part F, 3.4.4.6.
  case readBlobResponse(ReadBlobResponse)
  /// Read Multiple Request. Vol 3, Part F, 3.4.4.7.
  case readMultipleRequest(ReadMultipleRequest)
  /// Read Multiple Response. Vol 3, Part F, 3.4.4.8.
  case readMultipleResponse(ReadMultipleResponse)
  /// Read By Group Type Request. Vol 3, Part F, 3.4.4.9.
  case readByGroupTypeRequest(ReadByGroupTypeRequest)
  /// Read By Group Type Response. Vol 3, Part F, 3.4.4.10.
  case readByGroupTypeResponse(ReadByGroupTypeResponse)
  /// Write Request. Vol 3, Part F, 3.4.5.1.
  case writeRequest(HandleAndValue)
  /// Write Response. Vol 3, Part F, 3.4.5.2.
  case writeResponse
  /// Prepare Write Request. Vol 3, Part F, 3.4.6.1.
  case prepareWriteRequest(PrepareWriteRequest)
  /// Prepare Write Response. Vol 3, Part F, 3.4.6.2.
  case prepareWriteResponse(PrepareWriteResponse)
  /// Execute Write Request. Vol 3, Part F, 3.4.6.3.
  case executeWriteRequest(ExecuteWriteRequest)
  /// Execute Write Response. Vol 3, Part F, 3.4.6.4.
  case executeWriteResponse
  /// Handle Value Notification. Vol 3, Part F, 3.4.7.1.
  case handleValueNotification(HandleAndValue)
  /// Handle Value Indication. Vol 3, Part F, 3.4.7.2.
  case handleValueIndication(HandleAndValue)
  /// Handle Value Confirmation. Vol 3, Part F, 3.4.7.3.
  case handleValueConfirmation
  /// Read Multiple Variable Request. Vol 3, Part F, 3.4.4.11.
  case readMultipleVariableRequest(ReadMultipleVariableRequest)
  /// Read Multiple Variable Response. Vol 3, Part F, 3.4.4.12.
  case readMultipleVariableResponse(ReadMultipleVariableResponse)
  /// Multiple Handle Value Notification. Vol 3, Part F, 3.4.7.4.
  case multipleHandleValueNotification(MultipleHandleValueNotification)
  /// Write Command. Vol 3, Part F, 3.4.5.3.
  case writeCommand(HandleAndValue)
  /// Signed Write Command. Vol 3, Part F, 3.4.5.4.
  case signedWriteCommand(SignedWriteCommand)
  /// An unknown opcode, with the octets after it.
  case unknown(Opcode, RawSpan)
  /// A PDU of a known opcode that is malformed, or any PDU longer than ATT_MTU.
  case malformed(MalformedPDU)

  /// Decodes one PDU.
  ///
  /// - Parameters:
  ///   - octets: the whole PDU.
  ///   - mtu: the bearer's ATT_MTU; a longer PDU is malformed (Vol 3, Part F, 3.2.8).
  @_lifetime(copy octets)
  public init(_ octets: RawSpan, mtu: Int = .max) {
    guard octets.byteCount > 0 else {
      self = .malformed(MalformedPDU(opcode: nil, fault: .empty))
      return
    }
    let opcode = Opcode(octets.octet(at: 0))
    guard octets.byteCount <= mtu else {
      self = .malformed(
        MalformedPDU(opcode: opcode, fault: .longerThanMTU(octets.byteCount, mtu: mtu)))
      return
    }
    if let pdu = PDU(known: opcode, octets) {
      self = pdu
    } else if opcode.knownKind == nil {
      self = .unknown(opcode, octets.from(1))
    } else {
      self = .malformed(MalformedPDU(opcode: opcode, fault: .length(octets.byteCount)))
    }
  }

  /// nil if the opcode is unknown or the PDU is malformed.
  ///
  /// Inlined, so that the large enum is written only once.
  @inline(__always) @_lifetime(copy octets)
  private init?(known opcode: Opcode, _ octets: RawSpan) {
    switch opcode {
    case .errorResponse:
      guard let pdu = ErrorResponse(octets) else { return nil }
      self = .errorResponse(pdu)
    case .exchangeMTURequest:
      guard let pdu = ExchangeMTURequest(octets) else { return nil }
      self = .exchangeMTURequest(pdu)
    case .exchangeMTUResponse:
      guard let pdu = ExchangeMTUResponse(octets) else { return nil }
      self = .exchangeMTUResponse(pdu)
    case .findInformationRequest:
      guard let pdu = FindInformationRequest(octets) else { return nil }
      self = .findInformationRequest(pdu)
    case .findInformationResponse:
      guard let pdu = FindInformationResponse(octets) else { return nil }
      self = .findInformationResponse(pdu)
    case .findByTypeValueRequest:
      guard let pdu = FindByTypeValueRequest(octets) else { return nil }
      self = .findByTypeValueRequest(pdu)
    case .findByTypeValueResponse:
      guard let pdu = FindByTypeValueResponse(octets) else { return nil }
      self = .findByTypeValueResponse(pdu)
    case .readByTypeRequest:
      guard let pdu = ReadByTypeRequest(octets) else { return nil }
      self = .readByTypeRequest(pdu)
    case .readByTypeResponse:
      guard let pdu = ReadByTypeResponse(octets) else { return nil }
      self = .readByTypeResponse(pdu)
    case .readRequest:
      guard let pdu = ReadRequest(octets) else { return nil }
      self = .readRequest(pdu)
    case .readResponse: self = .readResponse(ReadResponse(octets))
    case .readBlobRequest:
      guard let pdu = ReadBlobRequest(octets) else { return nil }
      self = .readBlobRequest(pdu)
    case .readBlobResponse: self = .readBlobResponse(ReadBlobResponse(octets))
    case .readMultipleRequest:
      guard let pdu = ReadMultipleRequest(octets) else { return nil }
      self = .readMultipleRequest(pdu)
    case .readMultipleResponse: self = .readMultipleResponse(ReadMultipleResponse(octets))
    case .readByGroupTypeRequest:
      guard let pdu = ReadByGroupTypeRequest(octets) else { return nil }
      self = .readByGroupTypeRequest(pdu)
    case .readByGroupTypeResponse:
      guard let pdu = ReadByGroupTypeResponse(octets) else { return nil }
      self = .readByGroupTypeResponse(pdu)
    case .writeRequest:
      guard let pdu = HandleAndValue(octets) else { return nil }
      self = .writeRequest(pdu)
    case .writeResponse:
      guard octets.byteCount == 1 else { return nil }
      self = .writeResponse
    case .prepareWriteRequest:
      guard let pdu = PrepareWriteRequest(octets) else { return nil }
      self = .prepareWriteRequest(pdu)
    case .prepareWriteResponse:
      guard let pdu = PrepareWriteResponse(octets) else { return nil }
      self = .prepareWriteResponse(pdu)
    case .executeWriteRequest:
      guard let pdu = ExecuteWriteRequest(octets) else { return nil }
      self = .executeWriteRequest(pdu)
    case .executeWriteResponse:
      guard octets.byteCount == 1 else { return nil }
      self = .executeWriteResponse
    case .handleValueNotification:
      guard let pdu = HandleAndValue(octets) else { return nil }
      self = .handleValueNotification(pdu)
    case .handleValueIndication:
      guard let pdu = HandleAndValue(octets) else { return nil }
      self = .handleValueIndication(pdu)
    case .handleValueConfirmation:
      guard octets.byteCount == 1 else { return nil }
      self = .handleValueConfirmation
    case .readMultipleVariableRequest:
      guard let pdu = ReadMultipleVariableRequest(octets) else { return nil }
      self = .readMultipleVariableRequest(pdu)
    case .readMultipleVariableResponse:
      guard let pdu = ReadMultipleVariableResponse(octets) else { return nil }
      self = .readMultipleVariableResponse(pdu)
    case .multipleHandleValueNotification:
      guard let pdu = MultipleHandleValueNotification(octets) else { return nil }
      self = .multipleHandleValueNotification(pdu)
    case .writeCommand:
      guard let pdu = HandleAndValue(octets) else { return nil }
      self = .writeCommand(pdu)
    case .signedWriteCommand:
      guard let pdu = SignedWriteCommand(octets) else { return nil }
      self = .signedWriteCommand(pdu)
    default: return nil
    }
  }
}

/// A PDU that could not be decoded, and why.
public struct MalformedPDU: Equatable, Sendable {
  /// nil if the PDU was empty.
  public let opcode: Opcode?
  /// Why it could not be decoded.
  public let fault: Fault

  /// Why a PDU could not be decoded.
  public enum Fault: Equatable, Sendable {
    /// The PDU is empty.
    case empty
    /// The PDU has a length, in octets, that its opcode does not allow.
    case length(Int)
    /// The PDU is longer than ATT_MTU.
    case longerThanMTU(Int, mtu: Int)
  }

  /// The kind of PDU; nil if it is empty.
  public var kind: Opcode.Kind? { opcode?.kind }
}

extension MalformedPDU: CustomStringConvertible {
  public var description: String {
    guard let opcode else { return "PDU: empty" }
    switch fault {
    case .empty: return "PDU: empty"
    case .length(let count):
      let expected = opcode.definition?.expectedLength ?? "a length that its fields add up to"
      return "\(opcode): \(count) \(count == 1 ? "octet" : "octets"), expected \(expected)"
    case .longerThanMTU(let count, let mtu):
      return "\(opcode): \(count) octets, more than the ATT_MTU of \(mtu)"
    }
  }
}
