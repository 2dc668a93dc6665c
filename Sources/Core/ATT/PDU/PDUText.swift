// PDUs as one line of text.

extension PDU {
  /// The specification's name and the fields, with values in lowercase hex:
  /// `Read By Type Request 0x0001-0xFFFF 2803`.
  public var summary: String {
    switch self {
    case .errorResponse(let pdu): "Error Response: \(pdu)"
    case .exchangeMTURequest(let pdu): "Exchange MTU Request \(pdu.clientReceiveMTU)"
    case .exchangeMTUResponse(let pdu): "Exchange MTU Response \(pdu.serverReceiveMTU)"
    case .findInformationRequest(let pdu): "Find Information Request \(pdu.start)-\(pdu.end)"
    case .findInformationResponse(let pdu): "Find Information Response" + pdu.list
    case .findByTypeValueRequest(let pdu):
      "Find By Type Value Request \(pdu.start)-\(pdu.end) \(BluetoothUUID(pdu.type)) = "
        + pdu.value.hexText
    case .findByTypeValueResponse(let pdu): "Find By Type Value Response" + pdu.list
    case .readByTypeRequest(let pdu):
      "Read By Type Request \(pdu.start)-\(pdu.end) \(pdu.type)"
    case .readByTypeResponse(let pdu): "Read By Type Response" + pdu.list
    case .readRequest(let pdu): "Read Request \(pdu.handle)"
    case .readResponse(let pdu): "Read Response " + pdu.value.hexText
    case .readBlobRequest(let pdu): "Read Blob Request \(pdu.handle) from \(pdu.offset)"
    case .readBlobResponse(let pdu): "Read Blob Response " + pdu.part.hexText
    case .readMultipleRequest(let pdu): "Read Multiple Request" + pdu.handles.list
    case .readMultipleResponse(let pdu): "Read Multiple Response " + pdu.values.hexText
    case .readByGroupTypeRequest(let pdu):
      "Read By Group Type Request \(pdu.start)-\(pdu.end) \(pdu.type)"
    case .readByGroupTypeResponse(let pdu): "Read By Group Type Response" + pdu.list
    case .writeRequest(let pdu): "Write Request \(pdu.handle) = " + pdu.value.hexText
    case .writeResponse: "Write Response"
    case .prepareWriteRequest(let pdu):
      "Prepare Write Request \(pdu.handle) from \(pdu.offset) = " + pdu.part.hexText
    case .prepareWriteResponse(let pdu):
      "Prepare Write Response \(pdu.handle) from \(pdu.offset) = " + pdu.part.hexText
    case .executeWriteRequest(.cancel): "Execute Write Request: cancel"
    case .executeWriteRequest(.write): "Execute Write Request: write"
    case .executeWriteRequest(let pdu): "Execute Write Request: flags \(pdu.flags)"
    case .executeWriteResponse: "Execute Write Response"
    case .handleValueNotification(let pdu):
      "Handle Value Notification \(pdu.handle) = " + pdu.value.hexText
    case .handleValueIndication(let pdu):
      "Handle Value Indication \(pdu.handle) = " + pdu.value.hexText
    case .handleValueConfirmation: "Handle Value Confirmation"
    case .readMultipleVariableRequest(let pdu):
      "Read Multiple Variable Request" + pdu.handles.list
    case .readMultipleVariableResponse(let pdu):
      "Read Multiple Variable Response" + pdu.list
    case .multipleHandleValueNotification(let pdu):
      "Multiple Handle Value Notification" + pdu.list
    case .writeCommand(let pdu): "Write Command \(pdu.handle) = " + pdu.value.hexText
    case .signedWriteCommand(let pdu):
      "Signed Write Command \(pdu.handle) = " + pdu.value.hexText
        + " signed " + pdu.signature.hexText
    case .unknown(let opcode, let rest): "unknown \(opcode) " + rest.hexText
    case .malformed(let pdu): "malformed \(pdu)"
    }
  }
}

extension RawSpan {
  /// The octets in lowercase hex; `(empty)` if there are none.
  public var hexText: String {
    guard byteCount > 0 else { return "(empty)" }
    var text = ""
    text.reserveCapacity(byteCount * 2)
    for offset in 0..<byteCount { text += Hex.digits(octet(at: offset), uppercase: false) }
    return text
  }
}

extension FindInformationResponse {
  fileprivate var list: String {
    var text = ""
    for index in 0..<count { text += " \(self[index].handle) \(self[index].type)" }
    return text
  }
}

extension FindByTypeValueResponse {
  fileprivate var list: String {
    var text = ""
    for index in 0..<count { text += " \(self[index].found)-\(self[index].groupEnd)" }
    return text
  }
}

extension ReadByTypeResponse {
  fileprivate var list: String {
    var text = ""
    for index in 0..<count { text += " \(handle(at: index)) = " + value(at: index).hexText }
    return text
  }
}

extension ReadByGroupTypeResponse {
  fileprivate var list: String {
    var text = ""
    for index in 0..<count {
      let group = group(at: index)
      text += " \(group.start)-\(group.end) = " + value(at: index).hexText
    }
    return text
  }
}

extension HandleSet {
  fileprivate var list: String {
    var text = ""
    for index in 0..<count { text += " \(self[index])" }
    return text
  }
}

extension ReadMultipleVariableResponse {
  fileprivate var list: String {
    var text = ""
    var values = makeIterator()
    while let value = values.next() {
      text += " " + value.octets.hexText + (value.isCut ? " (cut, of \(value.stated))" : "")
    }
    return text
  }
}

extension MultipleHandleValueNotification {
  fileprivate var list: String {
    var text = ""
    var values = makeIterator()
    while let value = values.next() { text += " \(value.handle) = " + value.value.hexText }
    if values.remainder > 0 { text += " and \(values.remainder) octets too many" }
    return text
  }
}
