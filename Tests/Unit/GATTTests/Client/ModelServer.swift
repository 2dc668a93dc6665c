import AttoATT
import AttoGATT
import Testing

/// A simple server: an array of readable and writable attributes, with the requests for discovery,
/// reading and prepared writes.
struct ModelServer {
  struct Attribute {
    var handle: AttributeHandle
    var type: BluetoothUUID
    var value: [UInt8]
    /// The last handle of the group that this declaration begins.
    var groupEnd: AttributeHandle?
    /// The error for reads, instead of the value.
    var readError: ErrorCode?
  }

  /// By handle.
  var attributes: [Attribute]
  /// The maximum number of entries in a response, even if more would fit.
  var entryLimit = Int.max
  /// Requests answered so far.
  private(set) var requests: [Opcode] = []
  private var queue: [(handle: AttributeHandle, offset: Int, part: [UInt8])] = []

  init(_ attributes: [Attribute]) {
    self.attributes = attributes.sorted { $0.handle < $1.handle }
  }

  mutating func respond(to request: [UInt8], mtu: Int) -> [UInt8] {
    requests.append(Opcode(request[0]))
    return encoded(mtu: mtu) { out in
      switch PDU(request.span.bytes, mtu: mtu) {
      case .exchangeMTURequest:
        ExchangeMTUResponse(serverReceiveMTU: 517).encode(into: &out)
      case .findInformationRequest(let request):
        findInformation(request.start, request.end, &out)
      case .findByTypeValueRequest(let request):
        findByTypeValue(
          request.start, request.end, BluetoothUUID(request.type), request.value.owned, &out)
      case .readByTypeRequest(let request):
        readByType(request.start, request.end, request.type, mtu, &out)
      case .readByGroupTypeRequest(let request):
        readByGroupType(request.start, request.end, request.type, mtu, &out)
      case .readRequest(let read): self.read(read.handle, .readRequest, 0, &out)
      case .readBlobRequest(let read):
        self.read(read.handle, .readBlobRequest, Int(read.offset), &out)
      case .readMultipleRequest(let request):
        readMultiple(request.handles, .readMultipleRequest, &out)
      case .readMultipleVariableRequest(let request):
        readMultiple(request.handles, .readMultipleVariableRequest, &out)
      case .writeRequest(let write):
        guard let index = index(write.handle) else {
          return refuse(.writeRequest, write.handle, .invalidHandle, &out)
        }
        attributes[index].value = write.value.owned
        out.append(Opcode.writeResponse)
      case .prepareWriteRequest(let prepare):
        guard index(prepare.handle) != nil else {
          return refuse(.prepareWriteRequest, prepare.handle, .invalidHandle, &out)
        }
        queue.append((prepare.handle, Int(prepare.offset), prepare.part.owned))
        PrepareWriteResponse.encode(prepare, into: &out)
      case .executeWriteRequest(let execute): self.execute(execute, &out)
      default: refuse(Opcode(request[0]), .invalid, .requestNotSupported, &out)
      }
    }
  }

  private func index(_ handle: AttributeHandle) -> Int? {
    attributes.firstIndex { $0.handle == handle }
  }

  private func refuse(
    _ request: Opcode, _ handle: AttributeHandle, _ code: ErrorCode, _ out: inout OutputRawSpan
  ) {
    ErrorResponse(request: request, handle: handle, code: code).encode(into: &out)
  }

  private func inRange(_ start: AttributeHandle, _ end: AttributeHandle) -> [Attribute]? {
    guard let range = HandleRange(start, end) else { return nil }
    return attributes.filter { range.contains($0.handle) }
  }

  private func findInformation(
    _ start: AttributeHandle, _ end: AttributeHandle, _ out: inout OutputRawSpan
  ) {
    guard let list = inRange(start, end) else {
      return refuse(.findInformationRequest, start, .invalidHandle, &out)
    }
    guard let first = list.first else {
      return refuse(.findInformationRequest, start, .attributeNotFound, &out)
    }
    let width = first.type.encodedLength
    FindInformationResponse.begin(format: width == 2 ? 1 : 2, into: &out)
    for attribute in list.prefix(entryLimit) {
      guard attribute.type.encodedLength == width,
        FindInformationResponse.append(attribute.handle, attribute.type, to: &out)
      else { return }
    }
  }

  private func findByTypeValue(
    _ start: AttributeHandle, _ end: AttributeHandle, _ type: BluetoothUUID, _ value: [UInt8],
    _ out: inout OutputRawSpan
  ) {
    guard let list = inRange(start, end) else {
      return refuse(.findByTypeValueRequest, start, .invalidHandle, &out)
    }
    let matches = list.filter { $0.type == type && $0.value == value }
    guard !matches.isEmpty else {
      return refuse(.findByTypeValueRequest, start, .attributeNotFound, &out)
    }
    FindByTypeValueResponse.begin(into: &out)
    for match in matches.prefix(entryLimit) {
      guard
        FindByTypeValueResponse.append(
          match.handle, groupEnd: match.groupEnd ?? match.handle, to: &out)
      else { return }
    }
  }

  private func readByType(
    _ start: AttributeHandle, _ end: AttributeHandle, _ type: BluetoothUUID, _ mtu: Int,
    _ out: inout OutputRawSpan
  ) {
    guard let list = inRange(start, end)?.filter({ $0.type == type }) else {
      return refuse(.readByTypeRequest, start, .invalidHandle, &out)
    }
    guard let first = list.first else {
      return refuse(.readByTypeRequest, start, .attributeNotFound, &out)
    }
    if let error = first.readError {
      return refuse(.readByTypeRequest, first.handle, error, &out)
    }
    let longest = min(mtu - 4, ReadByTypeResponse.maximumValueLength)
    let length = min(first.value.count, longest)
    ReadByTypeResponse.begin(valueLength: length, into: &out)
    for attribute in list.prefix(entryLimit) {
      let value = [UInt8](attribute.value.prefix(longest))
      guard attribute.readError == nil, value.count == length,
        ReadByTypeResponse.append(attribute.handle, value.span.bytes, to: &out)
      else { return }
    }
  }

  private func readByGroupType(
    _ start: AttributeHandle, _ end: AttributeHandle, _ type: BluetoothUUID, _ mtu: Int,
    _ out: inout OutputRawSpan
  ) {
    guard let list = inRange(start, end)?.filter({ $0.type == type }) else {
      return refuse(.readByGroupTypeRequest, start, .invalidHandle, &out)
    }
    guard type == .primaryService || type == .secondaryService else {
      return refuse(.readByGroupTypeRequest, start, .unsupportedGroupType, &out)
    }
    guard let first = list.first else {
      return refuse(.readByGroupTypeRequest, start, .attributeNotFound, &out)
    }
    ReadByGroupTypeResponse.begin(valueLength: first.value.count, into: &out)
    for attribute in list.prefix(entryLimit) {
      guard attribute.value.count == first.value.count,
        ReadByGroupTypeResponse.append(
          attribute.handle, end: attribute.groupEnd!, attribute.value.span.bytes, to: &out)
      else { return }
    }
  }

  private func read(
    _ handle: AttributeHandle, _ request: Opcode, _ offset: Int, _ out: inout OutputRawSpan
  ) {
    guard let index = index(handle) else { return refuse(request, handle, .invalidHandle, &out) }
    let value = attributes[index].value
    if let error = attributes[index].readError { return refuse(request, handle, error, &out) }
    guard offset <= value.count else { return refuse(request, handle, .invalidOffset, &out) }
    out.append(request.response!)
    out.append(fitting: value.span.bytes.extracting(droppingFirst: offset))
  }

  private func readMultiple(
    _ handles: borrowing HandleSet, _ request: Opcode, _ out: inout OutputRawSpan
  ) {
    var values: [[UInt8]] = []
    for position in 0..<handles.count {
      guard let index = index(handles[position]) else {
        return refuse(request, handles[position], .invalidHandle, &out)
      }
      values.append(attributes[index].value)
    }
    out.append(request.response!)
    for value in values {
      if request == .readMultipleRequest {
        out.append(fitting: value.span.bytes)
      } else if !ReadMultipleVariableResponse.append(value.span.bytes, to: &out) {
        return
      }
    }
  }

  private mutating func execute(_ execute: ExecuteWriteRequest, _ out: inout OutputRawSpan) {
    let prepared = queue
    queue = []
    if execute == .write {
      for write in prepared {
        let index = index(write.handle)!
        guard write.offset <= attributes[index].value.count else {
          return refuse(.executeWriteRequest, write.handle, .invalidOffset, &out)
        }
        let end = write.offset + write.part.count
        var value = attributes[index].value
        value.replaceSubrange(write.offset..<min(end, value.count), with: write.part)
        attributes[index].value = value
      }
    }
    out.append(Opcode.executeWriteResponse)
  }

  /// Whether there are prepared writes.
  var isQueueEmpty: Bool { queue.isEmpty }
}

extension ModelServer {
  /// Runs a procedure against this server until it ends.
  mutating func run<P: Procedure>(_ procedure: P, mtu: Int) throws(ProcedureError) -> P.Output {
    var procedure = procedure
    while true {
      let response = respond(to: try procedure.request(mtu: mtu), mtu: mtu)
      switch try procedure.receive(octets: response, mtu: mtu) {
      case .request: continue
      case .finished(let output): return output
      }
    }
  }
}
