import ATT

// What may be wrong with a PDU that has its form.

extension PDUFinding {
  static func contents(of octets: [UInt8], _ shape: PDUShape) -> [PDUFinding] {
    switch PDU(octets.span.bytes) {
    case .errorResponse(let pdu): return error(pdu, shape)
    case .exchangeMTURequest(let pdu): return mtu(pdu.clientReceiveMTU, shape)
    case .exchangeMTUResponse(let pdu): return mtu(pdu.serverReceiveMTU, shape)
    case .findInformationRequest(let pdu): return range(pdu.start, pdu.end, shape)
    case .findByTypeValueRequest(let pdu): return range(pdu.start, pdu.end, shape)
    case .readByTypeRequest(let pdu): return range(pdu.start, pdu.end, shape)
    case .readByGroupTypeRequest(let pdu): return range(pdu.start, pdu.end, shape)
    case .findInformationResponse(let pdu):
      return rising((0..<pdu.count).map { pdu[$0].handle }, every: pdu.format == 1 ? 4 : 18, shape)
    case .findByTypeValueResponse(let pdu):
      let groups = (0..<pdu.count).map { pdu[$0] }
      return rising(groups.map(\.found), from: 1, every: 4, shape)
        + ends(groups.map { ($0.found, $0.groupEnd) }, from: 1, every: 4, shape)
    case .readByTypeResponse(let pdu):
      return rising((0..<pdu.count).map { pdu.handle(at: $0) }, every: pdu.pairLength, shape)
    case .readByGroupTypeResponse(let pdu):
      let groups = (0..<pdu.count).map { pdu.group(at: $0) }
      return rising(groups.map(\.start), every: pdu.entryLength, shape)
        + ends(groups.map { ($0.start, $0.end) }, from: 2, every: pdu.entryLength, shape)
    case .readRequest(let pdu): return handle(pdu.handle, 1)
    case .readBlobRequest(let pdu): return handle(pdu.handle, 1)
    case .readMultipleRequest(let pdu): return handles(pdu.handles)
    case .readMultipleVariableRequest(let pdu): return handles(pdu.handles)
    case .readResponse(let pdu): return value(pdu.value.byteCount, 1)
    case .readBlobResponse(let pdu): return value(pdu.part.byteCount, 1)
    case .writeRequest(let pdu), .writeCommand(let pdu), .handleValueNotification(let pdu),
      .handleValueIndication(let pdu):
      return handle(pdu.handle, 1) + value(pdu.value.byteCount, 3)
    case .signedWriteCommand(let pdu):
      return handle(pdu.handle, 1) + value(pdu.value.byteCount, 3)
    case .prepareWriteRequest(let pdu): return handle(pdu.handle, 1)
    case .prepareWriteResponse(let pdu): return handle(pdu.handle, 1)
    case .executeWriteRequest(let pdu):
      return pdu.flags <= 1
        ? [] : [wrong(1, "the flags are 0 (cancel) or 1 (write), not \(pdu.flags)", shape.section)]
    case .readMultipleVariableResponse: return lengths(octets, shape)
    case .multipleHandleValueNotification: return tuples(octets, shape)
    default: return []
    }
  }

  private static func error(_ pdu: ErrorResponse, _ shape: PDUShape) -> [PDUFinding] {
    var found: [PDUFinding] = []
    if pdu.request.name != nil, pdu.request.kind != .request {
      found.append(
        wrong(1, "only requests are answered with an error, not \(pdu.request)", shape.section))
    }
    if pdu.code.name == nil, pdu.code.rawValue < 0xE0 {
      found.append(wrong(4, "the \(pdu.code) is reserved", shape.section))
    }
    return found
  }

  private static func mtu(_ mtu: UInt16, _ shape: PDUShape) -> [PDUFinding] {
    mtu >= 23 ? [] : [wrong(1, "an MTU is 23 or more, not \(mtu)", shape.section)]
  }

  private static func handle(_ handle: AttributeHandle, _ at: Int) -> [PDUFinding] {
    handle.rawValue > 0 ? [] : [wrong(at, "no attribute has the handle 0x0000", "3.2.2")]
  }

  private static func handles(_ handles: borrowing HandleSet) -> [PDUFinding] {
    for index in 0..<handles.count where handles[index].rawValue == 0 {
      return handle(handles[index], 1 + 2 * index)
    }
    return []
  }

  private static func value(_ count: Int, _ at: Int) -> [PDUFinding] {
    count <= 512
      ? [] : [wrong(at + 512, "a value has at most 512 octets, not \(count)", "3.2.9")]
  }

  private static func range(
    _ start: AttributeHandle, _ end: AttributeHandle, _ shape: PDUShape
  ) -> [PDUFinding] {
    if start.rawValue == 0 {
      return [wrong(1, "a range begins at 0x0001 or later", shape.section)]
    }
    guard start.rawValue > end.rawValue else { return [] }
    return [wrong(3, "the range ends at \(end), before its start at \(start)", shape.section)]
  }

  /// Entries are in the order of their handles.
  private static func rising(
    _ handles: [AttributeHandle], from: Int = 2, every length: Int, _ shape: PDUShape
  ) -> [PDUFinding] {
    var last: UInt16 = 0
    for (index, handle) in handles.enumerated() {
      guard handle.rawValue > last else {
        let at = from + index * length
        guard handle.rawValue > 0 else { return self.handle(handle, at) }
        return [
          wrong(at, "handles rise, and \(handle) follows \(AttributeHandle(last))", shape.section)
        ]
      }
      last = handle.rawValue
    }
    return []
  }

  /// No group ends before it begins.
  private static func ends(
    _ groups: [(AttributeHandle, AttributeHandle)], from: Int, every length: Int,
    _ shape: PDUShape
  ) -> [PDUFinding] {
    for (index, group) in groups.enumerated() where group.1.rawValue < group.0.rawValue {
      return [
        wrong(
          from + index * length + 2, "the group at \(group.0) ends at \(group.1), before it begins",
          shape.section)
      ]
    }
    return []
  }

  /// A value may be cut; the length before it may not.
  private static func lengths(_ octets: [UInt8], _ shape: PDUShape) -> [PDUFinding] {
    var at = 1
    while octets.count - at >= 2 { at += 2 + Int(octets[at]) + Int(octets[at + 1]) << 8 }
    return octets.count - at == 1
      ? [
        wrong(at, "the length of the last value is cut: 1 of its 2 octets is there", shape.section)
      ]
      : []
  }

  /// Each handle, length and value is whole.
  private static func tuples(_ octets: [UInt8], _ shape: PDUShape) -> [PDUFinding] {
    var (at, count) = (1, 0)
    var found: [PDUFinding] = []
    while at < octets.count {
      let rest = octets.count - at
      guard rest >= 4 else {
        found.append(
          wrong(
            at,
            "the handle and length of the last value are cut: \(rest) of their 4 octets are there",
            shape.section))
        break
      }
      let length = Int(octets[at + 2]) | Int(octets[at + 3]) << 8
      let handle = AttributeHandle(UInt16(octets[at]) | UInt16(octets[at + 1]) << 8)
      found += self.handle(handle, at)
      guard rest - 4 >= length else {
        found.append(
          wrong(
            at + 2,
            "the value of \(handle) has \(length) octets by its length, and \(rest - 4) are there",
            shape.section))
        break
      }
      at += 4 + length
      count += 1
    }
    if found.isEmpty, count < 2 {
      found.append(
        wrong(octets.count, "two values or more are wanted, not \(count)", shape.section))
    }
    return found
  }
}
