import ATT

extension Server {
  /// Carries out a request and writes its response.
  ///
  /// - Parameters:
  ///   - request: one that the bearer asked to have handled.
  ///   - octets: the same as it arrived; kept if the application must be waited for.
  ///   - client: whose it is.
  ///   - transaction: the bearer's; it remembers what the application has answered.
  ///   - out: has room for exactly ATT_MTU octets. Empty if the action is `wait`.
  public func execute(
    _ request: borrowing PDU, octets: RawSpan, from client: ServerClient,
    transaction: inout ServerTransaction, into out: inout OutputRawSpan
  ) -> ServerAction {
    do throws(Halt) {
      try respond(to: request, client, &transaction, &out)
    } catch {
      out.removeAll()
      switch error {
      case .waits(let question):
        if !transaction.isResumed { transaction.keep(request: octets) }
        return .wait(question)
      case .refused(let code, let handle):
        // Whatever the reason, the client has been told.
        if code == .databaseOutOfSync, client.awareness == .unaware {
          client.awareness = .becoming
        }
        ErrorResponse(request: Opcode(octets.octet(at: 0)), handle: handle, code: code)
          .encode(into: &out)
      }
    }
    transaction.end()
    return .respond
  }

  /// Carries out a command. Whatever is wrong with it, nothing is answered.
  public func execute(command: borrowing PDU, from client: ServerClient) {
    guard !client.isOutOfSync else { return }
    // What a command needs of the application is needed at once: there is no response to
    // delay until an answer comes.
    var transaction = ServerTransaction()
    do throws(Halt) {
      switch command {
      case .writeCommand(let command):
        try write(command.handle, command.value, .writeCommand, client, &transaction)
      case .signedWriteCommand(let command):
        guard verify(command, client) else { return }
        try write(command.handle, command.value, .writeCommand, client, &transaction)
      default: break
      }
    } catch {}
  }

  /// Takes the application's late answer. True if the request of this transaction waited for
  /// it: carry it out again then, with ``ServerTransaction/request``.
  public func answer(
    _ id: QuestionID, _ answer: LateAnswer, transaction: inout ServerTransaction
  ) -> Bool {
    transaction.take(answer, to: id)
  }

  private func respond(
    to request: borrowing PDU, _ client: ServerClient,
    _ transaction: inout ServerTransaction, _ out: inout OutputRawSpan
  ) throws(Halt) {
    // Awareness is judged when a request arrives, not when it is taken up again.
    if !transaction.isResumed { try judgeAwareness(request, client) }
    switch request {
    case .readRequest(let request): try read(request, client, &transaction, &out)
    case .readBlobRequest(let request): try readBlob(request, client, &transaction, &out)
    case .readMultipleRequest(let request):
      try readMultiple(request.handles, client, &transaction, &out)
    case .readMultipleVariableRequest(let request):
      try readMultipleVariable(request.handles, client, &transaction, &out)
    case .readByTypeRequest(let request): try readByType(request, client, &transaction, &out)
    case .readByGroupTypeRequest(let request): try readByGroupType(request, &out)
    case .findInformationRequest(let request): try findInformation(request, &out)
    case .findByTypeValueRequest(let request):
      try findByTypeValue(request, client, &transaction, &out)
    case .writeRequest(let request):
      try write(request.handle, request.value, .write, client, &transaction)
      out.append(Opcode.writeResponse)
    case .prepareWriteRequest(let request):
      // The ATT_MTU may have shrunk while the application thought.
      guard PrepareWriteRequest.headerLength + request.part.byteCount <= out.freeCapacity else {
        throw .refused(.invalidPDU, request.handle)
      }
      try prepareWrite(request, client, &transaction)
      PrepareWriteResponse.encode(request, into: &out)
    case .executeWriteRequest(let request):
      try executeWrite(request, client, &transaction)
      out.append(Opcode.executeWriteResponse)
    default: throw .refused(.requestNotSupported, .invalid)
    }
  }

  /// The rules of robust caching for an arriving request. Vol 3, Part G, 2.5.2.1.
  private func judgeAwareness(
    _ request: borrowing PDU, _ client: ServerClient
  ) throws(Halt) {
    switch client.awareness {
    case .aware: return
    case .becoming:
      client.awareness = .aware
      // What it knows by now it need not be told when it asks for indications one day.
      // One that waits in the queue finds nothing to say, and does not go.
      client.changed = nil
    case .unaware:
      guard client.features.contains(.robustCaching), let handle = Self.handle(of: request) else {
        return
      }
      throw .refused(.databaseOutOfSync, handle)
    }
  }

  /// The handle that a request takes for known; nil if it is one that discovers.
  private static func handle(of request: borrowing PDU) -> AttributeHandle? {
    switch request {
    case .readRequest(let request): return request.handle
    case .readBlobRequest(let request): return request.handle
    case .readMultipleRequest(let request): return request.handles[0]
    case .readMultipleVariableRequest(let request): return request.handles[0]
    case .writeRequest(let request): return request.handle
    case .prepareWriteRequest(let request): return request.handle
    case .readByTypeRequest(let request):
      let discovers =
        request.type == .include || request.type == .characteristic
        || (request.start == .min && request.end == .max)
      return discovers ? nil : request.start
    default: return nil
    }
  }
}
