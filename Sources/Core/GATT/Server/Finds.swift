import AttoATT

// Requests that find attributes. Vol 3, Part F, 3.4.3.

extension Server {
  func findInformation(
    _ request: FindInformationRequest, _ out: inout OutputRawSpan
  ) throws(Halt) {
    let range = try range(request.start, request.end)
    let attributes = database.table.attributes
    var index = database.table.firstIndex(from: range.start)
    guard index < attributes.count, attributes[index].handle <= range.end else {
      throw .refused(.attributeNotFound, range.start)
    }
    // All types in a response have the same width.
    let width = attributes[index].type.encodedLength
    FindInformationResponse.begin(format: width == 2 ? 1 : 2, into: &out)
    if width == 2 {
      index = database.table.shortTypes(from: index, through: range.end) {
        FindInformationResponse.append($0, short: $1, to: &out)
      }
    }
    // Types of 128 bits, and what follows a type of 0x0000.
    while index < attributes.count, attributes[index].handle <= range.end,
      attributes[index].type.encodedLength == width,
      FindInformationResponse.append(attributes[index].handle, attributes[index].type, to: &out)
    { index += 1 }
  }

  /// Attributes that the client may not read are skipped, so that it cannot learn their values.
  func findByTypeValue(
    _ request: borrowing FindByTypeValueRequest, _ client: ServerClient,
    _ transaction: inout ServerTransaction, _ out: inout OutputRawSpan
  ) throws(Halt) {
    let range = try range(request.start, request.end)
    let handles = database.table.handles(of: BluetoothUUID(request.type))
    var position = handles.partitioningIndex { $0 >= range.start }
    FindByTypeValueResponse.begin(into: &out)
    var isEmpty = true
    // The application is not asked for a value that does not fit.
    while position < handles.count, handles[position] <= range.end, out.freeCapacity >= 4 {
      let handle = handles[position]
      position += 1
      let index = try index(of: handle)
      do throws(Halt) {
        try checkRead(index, client, &transaction)
        let octets = try value(index, client, &transaction).octets
        guard octets.span.bytes.isEqual(to: request.value) else { continue }
      } catch {
        switch error {
        case .waits, .refused(.databaseOutOfSync, _): throw error
        case .refused: continue
        }
      }
      isEmpty =
        !FindByTypeValueResponse.append(
          handle, groupEnd: database.table[index].groupEnd, to: &out)
    }
    if isEmpty { throw .refused(.attributeNotFound, range.start) }
  }
}
