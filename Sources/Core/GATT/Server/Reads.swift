import AttoATT

// Requests that read values. Vol 3, Part F, 3.4.4.

extension Server {
  func read(
    _ request: ReadRequest, _ client: ServerClient, _ transaction: inout ServerTransaction,
    _ out: inout OutputRawSpan
  ) throws(Halt) {
    let index = try index(of: request.handle)
    try checkRead(index, client, &transaction)
    let value = try value(index, client, &transaction)
    ReadResponse.encode(value.octets.span.bytes, into: &out)
  }

  /// An offset equal to the length of the value returns an empty part, a greater one Invalid
  /// Offset. The server never answers Attribute Not Long.
  func readBlob(
    _ request: ReadBlobRequest, _ client: ServerClient, _ transaction: inout ServerTransaction,
    _ out: inout OutputRawSpan
  ) throws(Halt) {
    let index = try index(of: request.handle)
    try checkRead(index, client, &transaction)
    let offset = Int(request.offset)
    guard offset <= ValueLimits.longest else { throw .refused(.invalidOffset, request.handle) }
    let value = try value(index, from: offset, client, &transaction)
    guard offset <= value.start + value.octets.count else {
      throw .refused(.invalidOffset, request.handle)
    }
    ReadBlobResponse.encode(
      value.octets.span.bytes.extracting(droppingFirst: offset - value.start), into: &out)
  }

  /// Checks all permissions, even of values that do not fit.
  func readMultiple(
    _ handles: HandleSet, _ client: ServerClient, _ transaction: inout ServerTransaction,
    _ out: inout OutputRawSpan
  ) throws(Halt) {
    ReadMultipleResponse.begin(into: &out)
    for position in 0..<handles.count {
      let index = try index(of: handles[position])
      try checkRead(index, client, &transaction)
      let value = try value(index, client, &transaction)
      out.append(fitting: value.octets.span.bytes)
    }
  }

  /// Cuts values that do not fit, but never a length field.
  func readMultipleVariable(
    _ handles: HandleSet, _ client: ServerClient, _ transaction: inout ServerTransaction,
    _ out: inout OutputRawSpan
  ) throws(Halt) {
    ReadMultipleVariableResponse.begin(into: &out)
    var hasRoom = true
    for position in 0..<handles.count {
      let index = try index(of: handles[position])
      try checkRead(index, client, &transaction)
      let value = try value(index, client, &transaction)
      if hasRoom {
        hasRoom = ReadMultipleVariableResponse.append(value.octets.span.bytes, to: &out)
      }
    }
  }

  /// Lists as many values of equal length as fit, sorted by handle. A refusal ends the list, or is
  /// the response if it concerns the first value.
  func readByType(
    _ request: ReadByTypeRequest, _ client: ServerClient,
    _ transaction: inout ServerTransaction, _ out: inout OutputRawSpan
  ) throws(Halt) {
    let range = try range(request.start, request.end)
    if request.type == .characteristic { return try listCharacteristics(range, &out) }
    let longest = min(out.freeCapacity - 4, ReadByTypeResponse.maximumValueLength)
    let handles = database.table.handles(of: request.type)
    var position = handles.partitioningIndex { $0 >= range.start }
    var length = -1
    while position < handles.count, handles[position] <= range.end {
      // The application is not asked for a value that does not fit.
      if length >= 0, out.freeCapacity < 2 + length { return }
      let handle = handles[position]
      let index = try index(of: handle)
      let octets: [UInt8]
      do throws(Halt) {
        octets = try listedValue(index, client, &transaction)
      } catch {
        // The values so far are invalid, because the database has changed.
        if case .refused(.databaseOutOfSync, _) = error { throw error }
        if length >= 0, case .refused = error { return }
        throw error
      }
      if length < 0 {
        // Only the first value may be cut. A longer one ends the list.
        length = min(octets.count, longest)
        ReadByTypeResponse.begin(valueLength: length, into: &out)
      } else if octets.count != length {
        return
      }
      position += 1
      guard
        ReadByTypeResponse.append(
          handle, octets.span.bytes.extracting(first: longest), to: &out)
      else { return }
    }
    if length < 0 { throw .refused(.attributeNotFound, range.start) }
  }

  /// Lists declarations of characteristics, which every client may read. Most of a discovery is this.
  private func listCharacteristics(
    _ range: HandleRange, _ out: inout OutputRawSpan
  ) throws(Halt) {
    let table = database.table
    let handles = table.handles(of: .characteristic)
    var position = handles.partitioningIndex { $0 >= range.start }
    var length = -1
    while position < handles.count, handles[position] <= range.end {
      let handle = handles[position]
      guard let index = table.index(of: handle), let declaration = table.declaration(at: index)
      else { break }
      if length < 0 {
        length = declaration.byteCount
        ReadByTypeResponse.begin(valueLength: length, into: &out)
      }
      guard declaration.byteCount == length, out.freeCapacity >= 2 + length else { return }
      out.append(handle)
      declaration.encode(into: &out)
      position += 1
    }
    if length < 0 { throw .refused(.attributeNotFound, range.start) }
  }

  /// The value of an attribute to list. Constants need no checks.
  @inline(__always)
  private func listedValue(
    _ index: Int, _ client: ServerClient, _ transaction: inout ServerTransaction
  ) throws(Halt) -> [UInt8] {
    if let octets = database.table.attributes[index].constantForAll { return octets }
    try checkRead(index, client, &transaction)
    return try value(index, client, &transaction).octets
  }

  /// Lists services, the only groups. Vol 3, Part G, 2.5.3.
  func readByGroupType(
    _ request: ReadByGroupTypeRequest, _ out: inout OutputRawSpan
  ) throws(Halt) {
    let range = try range(request.start, request.end)
    guard request.type == .primaryService || request.type == .secondaryService else {
      throw .refused(.unsupportedGroupType, range.start)
    }
    let handles = database.table.handles(of: request.type)
    var position = handles.partitioningIndex { $0 >= range.start }
    var length = -1
    while position < handles.count, handles[position] <= range.end {
      let handle = handles[position]
      guard let index = database.table.index(of: handle),
        case .constant(let uuid) = database.table[index].storage
      else { break }
      if length < 0 {
        length = uuid.count
        ReadByGroupTypeResponse.begin(valueLength: length, into: &out)
      }
      guard uuid.count == length,
        ReadByGroupTypeResponse.append(
          handle, end: database.table[index].groupEnd, uuid.span.bytes, to: &out)
      else { return }
      position += 1
    }
    if length < 0 { throw .refused(.attributeNotFound, range.start) }
  }
}
