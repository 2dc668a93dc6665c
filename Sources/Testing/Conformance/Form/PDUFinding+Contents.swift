import AttoATT

extension PDUFinding {
  /// Returns the mistakes in a well-formed PDU.
  static func contents(of octets: [UInt8], _ shape: PDUDefinition) -> [PDUFinding] {
    ContentCheck(section: shape.section).findings(in: octets)
  }
}

private struct ContentCheck {
  /// The section of the specification about this kind of PDU.
  let section: String

  func findings(in octets: [UInt8]) -> [PDUFinding] {
    switch PDU(octets.span.bytes) {
    case .errorResponse(let pdu): return error(pdu)
    case .exchangeMTURequest(let pdu): return mtu(pdu.clientReceiveMTU)
    case .exchangeMTUResponse(let pdu): return mtu(pdu.serverReceiveMTU)
    case .findInformationRequest(let pdu): return range(pdu.start, pdu.end)
    case .findByTypeValueRequest(let pdu): return range(pdu.start, pdu.end)
    case .readByTypeRequest(let pdu): return range(pdu.start, pdu.end)
    case .readByGroupTypeRequest(let pdu): return range(pdu.start, pdu.end)
    case .findInformationResponse(let pdu):
      return rising((0..<pdu.count).map { pdu[$0].handle }, every: pdu.format == 1 ? 4 : 18)
    case .findByTypeValueResponse(let pdu):
      let groups = (0..<pdu.count).map { pdu[$0] }
      return rising(groups.map(\.found), from: 1, every: 4)
        + ends(groups.map { ($0.found, $0.groupEnd) }, from: 1, every: 4)
    case .readByTypeResponse(let pdu):
      return rising((0..<pdu.count).map { pdu.handle(at: $0) }, every: pdu.pairLength)
    case .readByGroupTypeResponse(let pdu):
      let groups = (0..<pdu.count).map { pdu.group(at: $0) }
      return rising(groups.map(\.start), every: pdu.entryLength)
        + ends(groups.map { ($0.start, $0.end) }, from: 2, every: pdu.entryLength)
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
        ? []
        : [wrong(1, "the flags must be 0 (cancel) or 1 (write), not \(pdu.flags)")]
    case .readMultipleVariableResponse: return lengths(octets)
    case .multipleHandleValueNotification: return tuples(octets)
    default: return []
    }
  }

  private func wrong(_ octet: Int, _ text: String) -> PDUFinding { .wrong(octet, text, section) }

  private func error(_ pdu: ErrorResponse) -> [PDUFinding] {
    var found: [PDUFinding] = []
    if pdu.request.name != nil, pdu.request.kind != .request {
      found.append(wrong(1, "only requests are answered with errors, not \(pdu.request)"))
    }
    if pdu.code.name == nil, pdu.code.rawValue < 0xE0 {
      found.append(wrong(4, "\(pdu.code) is reserved"))
    }
    return found
  }

  private func mtu(_ mtu: UInt16) -> [PDUFinding] {
    mtu >= 23 ? [] : [wrong(1, "an MTU must be at least 23, not \(mtu)")]
  }

  private func handle(_ handle: AttributeHandle, _ at: Int) -> [PDUFinding] {
    handle.rawValue > 0 ? [] : [.wrong(at, "the handle 0x0000 is invalid", "3.2.2")]
  }

  private func handles(_ handles: borrowing HandleSet) -> [PDUFinding] {
    for index in 0..<handles.count where handles[index].rawValue == 0 {
      return handle(handles[index], 1 + 2 * index)
    }
    return []
  }

  private func value(_ count: Int, _ at: Int) -> [PDUFinding] {
    count <= 512 ? [] : [.wrong(at + 512, "a value has at most 512 octets, not \(count)", "3.2.9")]
  }

  private func range(
    _ start: AttributeHandle, _ end: AttributeHandle
  ) -> [PDUFinding] {
    if start.rawValue == 0 {
      return [wrong(1, "a range must start at 0x0001 or later")]
    }
    guard start.rawValue > end.rawValue else { return [] }
    return [wrong(3, "the range ends at \(end), before its start at \(start)")]
  }

  private func rising(
    _ handles: [AttributeHandle], from: Int = 2, every length: Int
  ) -> [PDUFinding] {
    var last: UInt16 = 0
    for (index, handle) in handles.enumerated() {
      guard handle.rawValue > last else {
        let at = from + index * length
        guard handle.rawValue > 0 else { return self.handle(handle, at) }
        return [wrong(at, "handles must increase, but \(handle) follows \(AttributeHandle(last))")]
      }
      last = handle.rawValue
    }
    return []
  }

  private func ends(
    _ groups: [(AttributeHandle, AttributeHandle)], from: Int, every length: Int
  ) -> [PDUFinding] {
    for (index, group) in groups.enumerated() where group.1.rawValue < group.0.rawValue {
      return [
        wrong(
          from + index * length + 2, "the group at \(group.0) ends at \(group.1), before its start")
      ]
    }
    return []
  }

  /// Checks the lengths of values. The last value may be truncated, but not its length.
  private func lengths(_ octets: [UInt8]) -> [PDUFinding] {
    var at = 1
    while octets.count - at >= 2 { at += 2 + Int(octets[at]) + Int(octets[at + 1]) << 8 }
    return octets.count - at == 1
      ? [
        wrong(at, "the length of the last value is truncated: 1 of 2 octets")
      ]
      : []
  }

  /// Checks that handles, lengths and values are complete.
  private func tuples(_ octets: [UInt8]) -> [PDUFinding] {
    var (at, count) = (1, 0)
    var found: [PDUFinding] = []
    while at < octets.count {
      let rest = octets.count - at
      guard rest >= 4 else {
        found.append(
          wrong(at, "the handle and length of the last value are truncated: \(rest) of 4 octets"))
        break
      }
      let length = Int(octets[at + 2]) | Int(octets[at + 3]) << 8
      let handle = AttributeHandle(UInt16(octets[at]) | UInt16(octets[at + 1]) << 8)
      found += self.handle(handle, at)
      guard rest - 4 >= length else {
        found.append(
          wrong(at + 2, "the value of \(handle) is truncated: \(rest - 4) of \(length) octets"))
        break
      }
      at += 4 + length
      count += 1
    }
    if found.isEmpty, count < 2 {
      found.append(wrong(octets.count, "at least two values are required, not \(count)"))
    }
    return found
  }
}
