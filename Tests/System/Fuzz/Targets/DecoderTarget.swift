import AttoATT

@testable import AttoSimulation

/// The decoder of PDUs. The input is one PDU.
///
/// Rules: what is decoded and encoded again gives the same octets, down to each entry of a
/// list; what is not of its opcode's form, by a second judgement, is malformed, and only that;
/// whatever arrives can be shown to people; the ATT_MTU cuts nothing off but refuses.
enum DecoderTarget {
  static func take(_ input: [UInt8]) {
    check(input)
    let octets = input.span.bytes
    // A limit below the PDU's length makes it malformed, and nothing else.
    let limit = max(23, Int(input.first ?? 0))
    if input.count > limit {
      guard case .malformed(let pdu) = PDU(octets, mtu: limit),
        pdu.fault == .longerThanMTU(input.count, mtu: limit)
      else { Failure.broken("a PDU beyond ATT_MTU is malformed", hex(input)) }
    }
  }

  private static func check(_ input: [UInt8]) {
    let octets = input.span.bytes
    let pdu = PDU(octets)
    Failure.unless(!pdu.summary.isEmpty, "every PDU can be shown", hex(input))
    let form = PDUForm(input, limit: .max)
    switch pdu {
    case .malformed:
      switch form {
      case .empty, .malformedResponse, .malformedIndication, .ignored, .refused(0x04): return
      default: Failure.broken("what has its form is decoded", hex(input))
      }
    case .unknown(_, let rest):
      Failure.unless(
        rest.isEqual(to: octets.extracting(droppingFirst: 1)),
        "an unknown PDU keeps its octets", hex(input))
      switch form {
      case .ignored, .refused(0x06): break
      default: Failure.broken("what has its form is decoded", hex(input))
      }
    default:
      switch form {
      case .empty, .malformedResponse, .malformedIndication, .ignored, .refused:
        Failure.broken("what has not its form is malformed", hex(input))
      default: break
      }
    }
    var again = [UInt8](repeating: 0, count: input.count)
    let length = again.withUnsafeMutableBytes { room in
      var out = OutputRawSpan(buffer: room, initializedCount: 0)
      encode(pdu, octets, into: &out)
      return out.finalize(for: room)
    }
    Failure.unless(
      again[..<length].elementsEqual(input), "decoding and encoding give the same octets",
      "\(hex(input)), then \(hex(again[..<length]))")
  }

  private static func encode(
    _ pdu: borrowing PDU, _ octets: RawSpan, into out: inout OutputRawSpan
  ) {
    switch pdu {
    case .errorResponse(let pdu): pdu.encode(into: &out)
    case .exchangeMTURequest(let pdu): pdu.encode(into: &out)
    case .exchangeMTUResponse(let pdu): pdu.encode(into: &out)
    case .findInformationRequest(let pdu): pdu.encode(into: &out)
    case .findInformationResponse(let pdu):
      FindInformationResponse.begin(format: pdu.format, into: &out)
      for index in 0..<pdu.count {
        let entry = pdu[index]
        if pdu.format == 1 {
          add(FindInformationResponse.append(entry.handle, entry.type, to: &out))
        } else {
          // Of a UUID that has a short form, the long one is not written by us.
          out.append(entry.handle)
          full(entry.type, into: &out)
        }
      }
    case .findByTypeValueRequest(let pdu): pdu.encode(into: &out)
    case .findByTypeValueResponse(let pdu):
      FindByTypeValueResponse.begin(into: &out)
      for index in 0..<pdu.count {
        add(
          FindByTypeValueResponse.append(pdu[index].found, groupEnd: pdu[index].groupEnd, to: &out))
      }
    case .readByTypeRequest(let pdu):
      ranged(.readByTypeRequest, pdu.start, pdu.end, pdu.type, octets, into: &out)
    case .readByTypeResponse(let pdu):
      ReadByTypeResponse.begin(valueLength: pdu.pairLength - 2, into: &out)
      for index in 0..<pdu.count {
        add(ReadByTypeResponse.append(pdu.handle(at: index), pdu.value(at: index), to: &out))
      }
    case .readRequest(let pdu): pdu.encode(into: &out)
    case .readResponse(let pdu): ReadResponse.encode(pdu.value, into: &out)
    case .readBlobRequest(let pdu): pdu.encode(into: &out)
    case .readBlobResponse(let pdu): ReadBlobResponse.encode(pdu.part, into: &out)
    case .readMultipleRequest(let pdu):
      ReadMultipleRequest.encode((0..<pdu.handles.count).map { pdu.handles[$0] }, into: &out)
    case .readMultipleResponse(let pdu):
      ReadMultipleResponse.begin(into: &out)
      out.append(pdu.values)
    case .readByGroupTypeRequest(let pdu):
      ranged(.readByGroupTypeRequest, pdu.start, pdu.end, pdu.type, octets, into: &out)
    case .readByGroupTypeResponse(let pdu):
      ReadByGroupTypeResponse.begin(valueLength: pdu.entryLength - 4, into: &out)
      for index in 0..<pdu.count {
        let group = pdu.group(at: index)
        add(
          ReadByGroupTypeResponse.append(
            group.start, end: group.end, pdu.value(at: index), to: &out))
      }
    case .writeRequest(let pdu): WriteRequest.encode(pdu.handle, pdu.value, into: &out)
    case .writeResponse: out.append(Opcode.writeResponse)
    case .prepareWriteRequest(let pdu):
      PrepareWriteRequest.encode(pdu.handle, offset: pdu.offset, pdu.part, into: &out)
    case .prepareWriteResponse(let pdu):
      out.append(Opcode.prepareWriteResponse)
      out.append(pdu.handle)
      out.append(pdu.offset)
      out.append(pdu.part)
    case .executeWriteRequest(let pdu): pdu.encode(into: &out)
    case .executeWriteResponse: out.append(Opcode.executeWriteResponse)
    case .handleValueNotification(let pdu):
      HandleValueNotification.encode(pdu.handle, pdu.value, into: &out)
    case .handleValueIndication(let pdu):
      HandleValueIndication.encode(pdu.handle, pdu.value, into: &out)
    case .handleValueConfirmation: out.append(Opcode.handleValueConfirmation)
    case .readMultipleVariableRequest(let pdu):
      ReadMultipleVariableRequest.encode(
        (0..<pdu.handles.count).map { pdu.handles[$0] }, into: &out)
    case .readMultipleVariableResponse(let pdu):
      out.append(Opcode.readMultipleVariableResponse)
      var list = pdu.makeIterator()
      while let value = list.next() {
        out.append(UInt16(value.stated))
        out.append(value.octets)
      }
      // A single octet after the last value is no length; it is dropped, and here put back.
      out.append(octets.extracting(droppingFirst: out.byteCount))
    case .multipleHandleValueNotification(let pdu):
      MultipleHandleValueNotification.begin(into: &out)
      var list = pdu.makeIterator()
      while let value = list.next() {
        add(MultipleHandleValueNotification.append(value.handle, value.value, to: &out))
      }
      // What is left over is no whole value; it is dropped, and here put back.
      out.append(octets.extracting(droppingFirst: octets.byteCount - list.remainder))
    case .writeCommand(let pdu): WriteCommand.encode(pdu.handle, pdu.value, into: &out)
    case .signedWriteCommand(let pdu):
      SignedWriteCommand.encode(pdu.handle, pdu.value, signature: pdu.signature, into: &out)
    case .unknown(let opcode, let rest):
      out.append(opcode)
      out.append(rest)
    case .malformed: break
    }
  }

  /// The requests of a range and a type, whose UUID may travel in its long form though it has a
  /// short one.
  private static func ranged(
    _ opcode: Opcode, _ start: AttributeHandle, _ end: AttributeHandle, _ type: BluetoothUUID,
    _ octets: RawSpan, into out: inout OutputRawSpan
  ) {
    out.append(opcode)
    out.append(start)
    out.append(end)
    if octets.byteCount == 7 { out.append(type) } else { full(type, into: &out) }
  }

  private static func full(_ type: BluetoothUUID, into out: inout OutputRawSpan) {
    out.append(type.low.littleEndian, as: UInt64.self)
    out.append(type.high.littleEndian, as: UInt64.self)
  }

  private static func add(_ isAdded: Bool) {
    Failure.unless(isAdded, "what was decoded fits where it came from")
  }
}
