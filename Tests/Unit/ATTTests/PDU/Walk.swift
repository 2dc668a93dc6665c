import TestSupport
import AttoATT

/// The contents of a PDU as text. Calls every accessor of every case and iterates over every list.
func walk(_ pdu: borrowing PDU) -> String {
  switch pdu {
  case .errorResponse(let pdu):
    "error \(hex(pdu.request.rawValue)) \(pdu.handle) \(hex(pdu.code.rawValue))"
  case .exchangeMTURequest(let pdu): "mtu? \(pdu.clientReceiveMTU)"
  case .exchangeMTUResponse(let pdu): "mtu! \(pdu.serverReceiveMTU)"
  case .findInformationRequest(let pdu): "information? \(pdu.start) \(pdu.end)"
  case .findInformationResponse(let pdu):
    "information! \(pdu.format):"
      + list(pdu.count) { index in "\(pdu[index].handle)=\(pdu[index].type)" }
  case .findByTypeValueRequest(let pdu):
    "type value? \(pdu.start) \(pdu.end) \(BluetoothUUID(pdu.type)) \(hexText(pdu.value.owned))"
  case .findByTypeValueResponse(let pdu):
    "type value!:" + list(pdu.count) { index in "\(pdu[index].found)-\(pdu[index].groupEnd)" }
  case .readByTypeRequest(let pdu): "by type? \(pdu.start) \(pdu.end) \(pdu.type)"
  case .readByTypeResponse(let pdu):
    "by type! \(pdu.pairLength):"
      + list(pdu.count) { index in "\(pdu.handle(at: index))=\(hexText(pdu.value(at: index).owned))"
      }
  case .readRequest(let pdu): "read? \(pdu.handle)"
  case .readResponse(let pdu): "read! \(hexText(pdu.value.owned))"
  case .readBlobRequest(let pdu): "blob? \(pdu.handle) \(pdu.offset)"
  case .readBlobResponse(let pdu): "blob! \(hexText(pdu.part.owned))"
  case .readMultipleRequest(let pdu):
    "multiple?:" + list(pdu.handles.count) { index in "\(pdu.handles[index])" }
  case .readMultipleResponse(let pdu): "multiple! \(hexText(pdu.values.owned))"
  case .readByGroupTypeRequest(let pdu): "by group? \(pdu.start) \(pdu.end) \(pdu.type)"
  case .readByGroupTypeResponse(let pdu):
    "by group! \(pdu.entryLength):"
      + list(pdu.count) { index in
        let (start, end) = pdu.group(at: index)
        return "\(start)-\(end)=\(hexText(pdu.value(at: index).owned))"
      }
  case .writeRequest(let pdu): "write? \(pdu.handle) \(hexText(pdu.value.owned))"
  case .writeResponse: "write!"
  case .prepareWriteRequest(let pdu):
    "prepare? \(pdu.handle) \(pdu.offset) \(hexText(pdu.part.owned))"
  case .prepareWriteResponse(let pdu):
    "prepare! \(pdu.handle) \(pdu.offset) \(hexText(pdu.part.owned))"
  case .executeWriteRequest(let pdu): "execute? \(pdu.flags)"
  case .executeWriteResponse: "execute!"
  case .handleValueNotification(let pdu): "notification \(pdu.handle) \(hexText(pdu.value.owned))"
  case .handleValueIndication(let pdu): "indication \(pdu.handle) \(hexText(pdu.value.owned))"
  case .handleValueConfirmation: "confirmation"
  case .readMultipleVariableRequest(let pdu):
    "variable?:" + list(pdu.handles.count) { index in "\(pdu.handles[index])" }
  case .readMultipleVariableResponse(let pdu): "variable!:" + values(pdu)
  case .multipleHandleValueNotification(let pdu): "notifications:" + values(pdu)
  case .writeCommand(let pdu): "command \(pdu.handle) \(hexText(pdu.value.owned))"
  case .signedWriteCommand(let pdu):
    "signed \(pdu.handle) \(hexText(pdu.value.owned)) / \(hexText(pdu.signature.owned))"
      + " / \(hexText(pdu.signed.owned))"
  case .unknown(let opcode, let rest): "unknown \(hex(opcode.rawValue)) \(hexText(rest.owned))"
  case .malformed(let pdu): "malformed \(pdu)"
  }
}

/// ``walk(_:)`` for the PDU of these octets.
func walk(_ octets: [UInt8], mtu: Int = .max) -> String {
  walk(PDU(octets.span.bytes, mtu: mtu))
}

private func list(_ count: Int, _ entry: (Int) -> String) -> String {
  var text = ""
  for index in 0..<count { text += " " + entry(index) }
  return text
}

private func values(_ pdu: borrowing ReadMultipleVariableResponse) -> String {
  var text = ""
  var iterator = pdu.makeIterator()
  while let value = iterator.next() {
    text += " \(hexText(value.octets.owned)),\(value.stated)" + (value.isCut ? " cut" : "")
  }
  return text
}

private func values(_ pdu: borrowing MultipleHandleValueNotification) -> String {
  var text = ""
  var iterator = pdu.makeIterator()
  while let value = iterator.next() {
    text += " \(value.handle)=\(hexText(value.value.owned))"
  }
  return text + (iterator.remainder == 0 ? "" : " rest \(iterator.remainder)")
}

private func hex(_ octet: UInt8) -> String { hexText([octet]) }
