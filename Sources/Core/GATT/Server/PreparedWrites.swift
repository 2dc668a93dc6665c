import AttoATT

// Writes that are queued and then executed together. Vol 3, Part F, 3.4.6.

extension Server {
  /// Checks the handle, the permission and the room in the queue. Offset and length are checked
  /// when the queue is executed.
  func prepareWrite(
    _ request: borrowing PrepareWriteRequest, _ client: ServerClient,
    _ transaction: inout ServerTransaction
  ) throws(Halt) {
    let index = try index(of: request.handle)
    try checkWrite(index, client, &transaction)
    let write = PreparedWrite(
      handle: request.handle, offset: Int(request.offset), part: request.part.owned)
    guard prepare(write, for: client) else { throw .refused(.prepareQueueFull, request.handle) }
  }

  /// Executes all prepared writes or none: each is checked on a copy of its value before the first
  /// is stored. Afterwards the queue is empty in any case.
  func executeWrite(
    _ request: ExecuteWriteRequest, _ client: ServerClient,
    _ transaction: inout ServerTransaction
  ) throws(Halt) {
    switch request {
    case .cancel: clearQueue(of: client)
    case .write:
      // If the application answers later, the queue stays, because the request is executed again.
      do throws(Halt) {
        try execute(client.queue.writes, client, &transaction)
      } catch {
        if case .refused = error { clearQueue(of: client) }
        throw error
      }
      clearQueue(of: client)
    default: throw .refused(.invalidPDU, .invalid)
    }
  }

  private func execute(
    _ writes: [PreparedWrite], _ client: ServerClient, _ transaction: inout ServerTransaction
  ) throws(Halt) {
    guard let first = writes.first else { return }
    guard client.queue.revision == database.revision else {
      throw .refused(.databaseOutOfSync, first.handle)
    }
    var results: [Result] = []
    var forApplication: [PreparedWrite] = []
    for write in writes {
      let index = try index(of: write.handle)
      let (position, limits) = try begin(index, client, &results)
      guard let position else {
        try judge(write, limits)
        forApplication.append(write)
        continue
      }
      guard write.offset <= results[position].value.count else {
        throw .refused(.invalidOffset, write.handle)
      }
      let longest = limits.isFixedLength ? results[position].value.count : limits.maximumLength
      guard write.offset + write.part.count <= longest else {
        throw .refused(.invalidAttributeValueLength, write.handle)
      }
      results[position].value.overwrite(
        from: write.offset, write.part.span.bytes, resizing: false)
      results[position].end = max(results[position].end, write.offset + write.part.count)
      results[position].isFixedLength = limits.isFixedLength
    }
    for position in results.indices {
      results[position].finish()
      try judgeConfiguration(results[position].index, results[position].value, client)
    }
    if let first = forApplication.first {
      let answer =
        if let given = transaction.answer(.execute, first.handle) { given } else {
          try ask(.execute, first.handle, client, &transaction, keeps: false) { question in
            self.application.execute(question, forApplication).given
          }
        }
      if case .refused(let code) = answer { throw .refused(code, first.handle) }
    }
    for result in results { try keep(result.index, result.value, client) }
  }

  /// The new value of an attribute.
  private struct Result {
    let index: Int
    var value: [UInt8]
    /// The largest end of all parts.
    var end = 0
    var isFixedLength = false

    /// Cuts a value of variable length at the end of what was written, as a Write Request does. The
    /// order of the parts does not matter.
    mutating func finish() {
      if !isFixedLength { value.removeLast(value.count - end) }
    }
  }

  /// The index of an attribute's copy in the results; nil if the application holds the value.
  private func begin(
    _ index: Int, _ client: ServerClient, _ results: inout [Result]
  ) throws(Halt) -> (position: Int?, limits: ValueLimits) {
    let handle = database.table[index].handle
    let (value, limits): ([UInt8], ValueLimits)
    switch database.table[index].storage {
    case .constant, .characteristic, .databaseHash: throw .refused(.writeNotPermitted, handle)
    case .application(let limits): return (nil, limits)
    case .stored(let stored, let its): (value, limits) = (stored, its)
    case .configuration:
      value = client.configuration(handle).rawValue.octets
      limits = ValueLimits(maximumLength: 2)
    case .clientSupportedFeatures:
      (value, limits) = ([client.features.rawValue], ValueLimits())
    }
    if let position = results.firstIndex(where: { $0.index == index }) {
      return (position, limits)
    }
    results.append(Result(index: index, value: value))
    return (results.count - 1, limits)
  }

  /// Checks a write to a value of the application, of which the server knows only the maximum
  /// length.
  private func judge(_ write: PreparedWrite, _ limits: ValueLimits) throws(Halt) {
    guard write.offset <= limits.maximumLength else {
      throw .refused(.invalidOffset, write.handle)
    }
    guard write.offset + write.part.count <= limits.maximumLength else {
      throw .refused(.invalidAttributeValueLength, write.handle)
    }
  }

  private func judgeConfiguration(
    _ index: Int, _ value: [UInt8], _ client: ServerClient
  ) throws(Halt) {
    let handle = database.table[index].handle
    switch database.table[index].storage {
    case .configuration(let offered, _):
      _ = try judge(value.span.bytes, handle, offered, client.configuration(handle))
    case .clientSupportedFeatures:
      _ = try judge(value.span.bytes, handle, client.features)
    default: break
    }
  }

  private func keep(_ index: Int, _ value: [UInt8], _ client: ServerClient) throws(Halt) {
    let handle = database.table[index].handle
    switch database.table[index].storage {
    case .configuration(let offered, let valueHandle):
      let configuration = try judge(
        value.span.bytes, handle, offered, client.configuration(handle))
      client.configure(handle, configuration)
      note(.configured(value: valueHandle, configuration, by: client.id))
    case .clientSupportedFeatures:
      client.features = try judge(value.span.bytes, handle, client.features)
      note(.featuresWritten(client.features, by: client.id))
    default:
      store(index, from: 0, value.span.bytes, resizing: true)
      note(.valueWritten(handle, by: client.id))
    }
  }
}
