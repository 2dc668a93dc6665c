/// A received PDU, decoded once: borrowed views over the receive buffer. Vol 3, Part F, 3.3.
///
/// Decoding never fails. What does not have the form that its opcode asks for is
/// ``malformed(_:)``; what has an opcode of no PDU is ``unknown(_:_:)``. All other cases have
/// had their length checked, so that their accessors cannot fail.
public enum PDU: ~Escapable {
  case errorResponse(ErrorResponse)
  case exchangeMTURequest(ExchangeMTURequest)
  case exchangeMTUResponse(ExchangeMTUResponse)
  case findInformationRequest(FindInformationRequest)
  case findInformationResponse(FindInformationResponse)
  case findByTypeValueRequest(FindByTypeValueRequest)
  case findByTypeValueResponse(FindByTypeValueResponse)
  case readByTypeRequest(ReadByTypeRequest)
  case readByTypeResponse(ReadByTypeResponse)
  case readRequest(ReadRequest)
  case readResponse(ReadResponse)
  case readBlobRequest(ReadBlobRequest)
  case readBlobResponse(ReadBlobResponse)
  case readMultipleRequest(ReadMultipleRequest)
  case readMultipleResponse(ReadMultipleResponse)
  case readByGroupTypeRequest(ReadByGroupTypeRequest)
  case readByGroupTypeResponse(ReadByGroupTypeResponse)
  case writeRequest(HandleAndValue)
  case writeResponse
  case prepareWriteRequest(PrepareWriteRequest)
  case prepareWriteResponse(PrepareWriteResponse)
  case executeWriteRequest(ExecuteWriteRequest)
  case executeWriteResponse
  case handleValueNotification(HandleAndValue)
  case handleValueIndication(HandleAndValue)
  case handleValueConfirmation
  case readMultipleVariableRequest(ReadMultipleVariableRequest)
  case readMultipleVariableResponse(ReadMultipleVariableResponse)
  case multipleHandleValueNotification(MultipleHandleValueNotification)
  case writeCommand(HandleAndValue)
  case signedWriteCommand(SignedWriteCommand)
  /// An opcode of no PDU, with the octets after it.
  case unknown(Opcode, RawSpan)
  /// A known opcode whose PDU has not the form it should have, or is longer than ATT_MTU.
  case malformed(MalformedPDU)

  /// Decodes one PDU.
  ///
  /// - Parameters:
  ///   - octets: the whole PDU, as the link delivered it.
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
    } else if opcode.name == nil {
      self = .unknown(opcode, octets.from(1))
    } else {
      self = .malformed(MalformedPDU(opcode: opcode, fault: .length(octets.byteCount)))
    }
  }

  /// nil if the opcode is unknown or the octets have not its form.
  ///
  /// Inlined, so that the large enum is written once, into its place.
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

/// What is wrong with a PDU that could not be decoded.
public struct MalformedPDU: Equatable, Sendable {
  /// nil if the PDU was empty.
  public let opcode: Opcode?
  public let fault: Fault

  public enum Fault: Equatable, Sendable {
    /// A PDU without a single octet.
    case empty
    /// This many octets are too few, too many, or do not divide into the list they should hold.
    case length(Int)
    /// This many octets are more than the bearer's ATT_MTU.
    case longerThanMTU(Int, mtu: Int)
  }

  /// What to answer, if anything: nil for an empty PDU.
  public var kind: Opcode.Kind? { opcode?.kind }
}

extension MalformedPDU: CustomStringConvertible {
  public var description: String {
    guard let opcode else { return "an empty PDU" }
    switch fault {
    case .empty: return "an empty PDU"
    case .length(let count): return "\(opcode) of \(count) octets, which is not its form"
    case .longerThanMTU(let count, let mtu):
      return "\(opcode) of \(count) octets, which is more than the ATT_MTU of \(mtu)"
    }
  }
}
