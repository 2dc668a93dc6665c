import AttoATT

extension Server {
  /// Executes a request and writes its response.
  ///
  /// - Parameters:
  ///   - request: a request for which the bearer has returned ``AttoATT/BearerAction/request``.
  ///   - octets: the octets of the request, which are saved if the application answers later.
  ///   - client: the client that sent it.
  ///   - transaction: the transaction of the bearer, which has the answers of the application.
  ///   - out: an output with room for exactly ATT_MTU octets. It stays empty for `wait`.
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
        // This response informs the client.
        if code == .databaseOutOfSync, client.awareness == .unaware {
          transaction.wasRefused(at: database.revision)
        }
        ErrorResponse(request: Opcode(octets.octet(at: 0)), handle: handle, code: code)
          .encode(into: &out)
      }
    }
    transaction.end()
    return .respond
  }

  /// Executes a command. Errors are ignored, because commands have no response.
  public func execute(command: borrowing PDU, from client: ServerClient) {
    guard !client.isOutOfSync else { return }
    // The application must answer at once, because there is no response that could wait.
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

  /// Accepts a late answer of the application.
  ///
  /// - Returns: true if the request of this transaction has waited for it. Then execute
  ///   ``ServerTransaction/request`` again.
  public func answer(
    _ id: QuestionID, _ answer: LateAnswer, transaction: inout ServerTransaction
  ) -> Bool {
    transaction.accept(answer, to: id)
  }

  private func respond(
    to request: borrowing PDU, _ client: ServerClient,
    _ transaction: inout ServerTransaction, _ out: inout OutputRawSpan
  ) throws(Halt) {
    // Awareness is checked when a request arrives, not when it is resumed.
    if !transaction.isResumed { try judgeAwareness(request, client, transaction) }
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
      // ATT_MTU may have shrunk while the application was asked.
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

  /// Applies the rules of robust caching to a new request. Vol 3, Part G, 2.5.2.1.
  private func judgeAwareness(
    _ request: borrowing PDU, _ client: ServerClient, _ transaction: borrowing ServerTransaction
  ) throws(Halt) {
    switch client.awareness {
    case .aware: return
    case .becoming:
      client.awareness = .aware
      // The client knows of this change now. A queued Service Changed finds nothing to report and
      // is not sent.
      client.changed = nil
    case .unaware:
      guard client.features.contains(.robustCaching) else { return }
      // The error is sent once on each bearer after a change. Requests are then executed, but the
      // client is aware only if this is its last bearer.
      if transaction.refusedRevision == database.revision {
        if client.hasOneBearer { (client.awareness, client.changed) = (.aware, nil) }
        return
      }
      guard let handle = Self.handle(of: request) else { return }
      throw .refused(.databaseOutOfSync, handle)
    }
  }

  /// The handle that a request relies on; nil for a request of discovery.
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
