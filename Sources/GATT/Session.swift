import ATT

/// A bearer with a GATT client on it and, behind it, a GATT server. Vol 3, Part G, 2.4.
///
/// # Theory
///
/// The bearer knows transactions, the server knows attributes, procedures know what to ask
/// next. A session knows all three and nothing else: it hands PDUs and time down, and keeps
/// who waits for what. Everything it wants sent is in `bearer.outbox` when a call returns;
/// its owner takes it from there to the link.
///
/// Procedures take turns: each asks for the request slot anew after each response, behind the
/// others that wait, so that two long operations share the bearer request by request.
///
/// Whoever is told of an end may call the session again from there: every list is put in order
/// before anybody is told.
public final class Session {
  public var bearer: Bearer
  public let server: Server?
  /// What the server knows of the peer; nil without a server.
  public let client: ServerClient?

  private var operations: [(id: TransactionID, operation: ClientOperation)] = []
  private var indications: [Indication] = []
  private var nextTransaction: UInt64 = 1
  /// The exchange of ATT_MTU, be it still waiting for its turn.
  private var exchange: TransactionID?
  private var transaction = ServerTransaction()
  private var response = PDUQueue()
  private var held: [UInt8] = []

  private struct Indication {
    let id: TransactionID
    let handle: AttributeHandle
    let value: [UInt8]
    /// For Service Changed: the revision of the database that it tells of.
    let revision: UInt32?
  }

  /// - Parameters:
  ///   - server: answers the peer's requests; without one they get Request Not Supported, and
  ///     those that must be supported Invalid Handle or Attribute Not Found.
  ///   - client: from `server.connect`.
  public init(
    _ configuration: BearerConfiguration = BearerConfiguration(), server: Server? = nil,
    client: ServerClient? = nil
  ) {
    bearer = Bearer(configuration)
    self.server = server
    self.client = client
  }

  // MARK: Receiving

  /// Takes one PDU from the link.
  public func receive(_ octets: RawSpan, at now: Instant) -> SessionAction {
    let pdu = PDU(octets, mtu: bearer.receiveLimit(octets))
    return receive(pdu, octets, at: now)
  }

  private func receive(
    _ pdu: borrowing PDU, _ octets: RawSpan, at now: Instant
  ) -> SessionAction {
    switch bearer.receive(pdu, octets: octets, at: now) {
    case .request:
      respond(to: pdu, octets)
      takeHeldRequests(at: now)
      pump(at: now)
      return .none
    case .command:
      // Signed writes exist on the fixed channel only. Vol 3, Part F, 3.4.5.4.
      if octets.octet(at: 0) == Opcode.signedWriteCommand.rawValue,
        bearer.configuration.channel != .fixed
      {
        return .none
      }
      if let server, let client { server.execute(command: pdu, from: client) }
      return .none
    case .answered:
      takeHeldRequests(at: now)
      return .none
    case .response(let id):
      receive(pdu, for: id, at: now)
      pump(at: now)
      return .none
    case .notification:
      switch pdu {
      case .multipleHandleValueNotification: return .notifications
      default: return .notification
      }
    case .indication: return .indication
    case .confirmation(let id):
      let action = confirmed(id)
      pump(at: now)
      return action
    case .ignored(.abandoned):
      pump(at: now)
      return .none
    case .held, .ignored: return .none
    case .failed(let failure):
      end(failure)
      return .failed(failure)
    }
  }

  /// The value of an indication has been delivered, or dropped: confirms it.
  public func confirm() { bearer.confirm() }

  // MARK: Server side

  /// The response is written beside the bearer and then handed to it, and the transaction is
  /// taken out of the session meanwhile, because the application that the server asks may use
  /// this session: to notify, or to end it.
  private func respond(to pdu: borrowing PDU, _ octets: RawSpan) {
    var isAnswered = true
    var transaction = ServerTransaction()
    swap(&transaction, &self.transaction)
    response.append(limit: bearer.mtu) { (out: inout OutputRawSpan) in
      guard let server, let client else { return Self.refuse(pdu, octets, &out) }
      let action = server.execute(
        pdu, octets: octets, from: client, transaction: &transaction, into: &out)
      isAnswered = action == .respond
    }
    if bearer.failure == nil { self.transaction = transaction }
    if isAnswered, let pdu = response.first { bearer.respond(pdu) }
    response.removeAll()
  }

  /// What a device without a database answers: there is nothing at any handle.
  private static func refuse(
    _ pdu: borrowing PDU, _ octets: RawSpan, _ out: inout OutputRawSpan
  ) {
    func nothing(_ start: AttributeHandle, _ end: AttributeHandle) -> (AttributeHandle, ErrorCode) {
      (start, HandleRange(start, end) == nil ? .invalidHandle : .attributeNotFound)
    }
    let error: (AttributeHandle, ErrorCode) =
      switch pdu {
      case .findInformationRequest(let request): nothing(request.start, request.end)
      case .findByTypeValueRequest(let request): nothing(request.start, request.end)
      case .readByTypeRequest(let request): nothing(request.start, request.end)
      case .readByGroupTypeRequest(let request): nothing(request.start, request.end)
      case .readRequest(let request): (request.handle, .invalidHandle)
      default: (.invalid, .requestNotSupported)
      }
    ErrorResponse(request: Opcode(octets.octet(at: 0)), handle: error.0, code: error.1)
      .encode(into: &out)
  }

  /// The application answers a question that it had put off. Answers to questions of requests
  /// that are gone have no effect.
  public func answer(_ id: QuestionID, _ answer: LateAnswer, at now: Instant) {
    guard let server, server.answer(id, answer, transaction: &transaction) else { return }
    let request = transaction.request
    let octets = request.span.bytes
    let pdu = PDU(octets)
    respond(to: pdu, octets)
    takeHeldRequests(at: now)
    pump(at: now)
  }

  /// Requests that came while an earlier one was unanswered, in order.
  private func takeHeldRequests(at now: Instant) {
    var request = held
    held = []
    while bearer.takeHeldRequest(into: &request) {
      let octets = request.span.bytes
      let pdu = PDU(octets, mtu: bearer.mtu)
      switch bearer.receive(pdu, octets: octets, at: now) {
      case .request: respond(to: pdu, octets)
      default: break
      }
    }
    held = request
  }

  /// Sends a value as a notification. Vol 3, Part G, 4.10.1.
  ///
  /// - Returns: false, and nothing sent, while the bearer exchanges its ATT_MTU or has too
  ///   much waiting for the link: try again when it has less. Also on a dead bearer, for ever.
  ///   The value is cut at ATT_MTU - 3.
  public func notify(_ handle: AttributeHandle, _ value: RawSpan) -> Bool {
    guard bearer.failure == nil, !bearer.holdsValues, !bearer.isCongested else { return false }
    bearer.notify { out in HandleValueNotification.encode(handle, value, into: &out) }
    return true
  }

  /// Sends several values in one notification, if the client understands it and they fit.
  /// Vol 3, Part G, 4.10.2. False, and nothing sent, otherwise.
  public func notify(_ values: [(handle: AttributeHandle, value: [UInt8])]) -> Bool {
    let length = values.reduce(1) { $0 + 4 + $1.value.count }
    guard values.count > 1, length <= bearer.mtu, bearer.failure == nil, !bearer.holdsValues,
      !bearer.isCongested,
      client?.features.contains(.multipleNotifications) == true
    else { return false }
    bearer.notify { out in
      MultipleHandleValueNotification.begin(into: &out)
      for (handle, value) in values {
        _ = MultipleHandleValueNotification.append(handle, value.span.bytes, to: &out)
      }
    }
    return true
  }

  /// Sends a value as an indication, or queues it behind others. Vol 3, Part G, 4.11.
  ///
  /// - Returns: the name that ``SessionAction/confirmed(_:)`` will bring back.
  public func indicate(
    _ handle: AttributeHandle, _ value: [UInt8], at now: Instant
  ) throws(ProcedureError) -> TransactionID {
    try indicate(handle, value, revision: nil, at: now)
  }

  private func indicate(
    _ handle: AttributeHandle, _ value: [UInt8], revision: UInt32?, at now: Instant
  ) throws(ProcedureError) -> TransactionID {
    let id = takeTransactionID()
    switch bearer.enqueueIndication(id) {
    case .waiting:
      indications.append(
        Indication(id: id, handle: handle, value: value, revision: revision))
    case .refused(let limit): throw .misuse(.tooManyIndications(limit: limit))
    case .dead(let failure): throw .bearer(failure)
    }
    pumpIndications(at: now)
    return id
  }

  /// Nobody waits for this confirmation any more.
  public func cancel(indication id: TransactionID) {
    indications.removeAll { $0.id == id }
    bearer.cancel(indication: id)
  }

  private func confirmed(_ id: TransactionID) -> SessionAction {
    guard let index = indications.firstIndex(where: { $0.id == id }) else { return .none }
    let indication = indications.remove(at: index)
    guard let revision = indication.revision else { return .confirmed(id) }
    if let server, let client { server.confirmServiceChanged(client, revision) }
    return .none
  }

  // MARK: Client side

  /// Begins an operation: sends its first request, or queues it behind others.
  ///
  /// The operation is told of its end, be it at once.
  @discardableResult
  public func start(_ operation: ClientOperation, at now: Instant) -> TransactionID {
    let id = takeTransactionID()
    switch bearer.enqueueRequest(id) {
    case .waiting:
      operations.append((id, operation))
      pumpRequests(at: now)
    case .refused(let limit): operation.fail(.misuse(.tooManyProcedures(limit: limit)))
    case .dead(let failure): operation.fail(.bearer(failure))
    }
    return id
  }

  /// Begins the exchange of ATT_MTU, if this side may.
  @discardableResult
  public func startExchangeMTU(_ operation: ClientOperation, at now: Instant) -> TransactionID? {
    guard bearer.canExchangeMTU, !operations.contains(where: { $0.id == exchange }) else {
      operation.fail(
        .misuse(bearer.configuration.channel == .fixed ? .mtuAlreadyExchanged : .notOnThisBearer))
      return nil
    }
    exchange = start(operation, at: now)
    return exchange
  }

  /// Ends an operation before its time; it is told. A request on the wire keeps the slot until
  /// its response has come. An operation that has left something on the server clears it first
  /// and is told then.
  public func cancel(_ id: TransactionID, at now: Instant) {
    guard let index = operations.firstIndex(where: { $0.id == id }),
      !operations[index].operation.cancel()
    else { return }
    let operation = operations.remove(at: index).operation
    bearer.cancel(request: id)
    pumpRequests(at: now)
    operation.fail(.cancelled)
  }

  /// How many operations have not ended.
  public var operationCount: Int { operations.count }

  /// Sends a value without an answer. Vol 3, Part G, 4.9.1.
  ///
  /// - Returns: false, and nothing sent, if too much waits for the link.
  /// - Throws: `misuse` if the value is longer than ATT_MTU - 3, `bearer` on a dead one.
  public func writeWithoutResponse(
    _ handle: AttributeHandle, _ value: RawSpan
  ) throws(ProcedureError) -> Bool {
    if let failure = bearer.failure { throw .bearer(failure) }
    let limit = bearer.mtu - WriteCommand.headerLength
    guard value.byteCount <= limit else {
      throw .misuse(.valueTooLong(value.byteCount, limit: limit))
    }
    guard !bearer.isCongested else { return false }
    bearer.command { out in WriteCommand.encode(handle, value, into: &out) }
    return true
  }

  /// Sends a signed value without an answer. Vol 3, Part G, 4.9.2.
  ///
  /// - Parameters:
  ///   - counter: of this signature; never use one twice with the same key.
  ///   - key: the CSRK, 16 octets, most significant first.
  public func writeSigned(
    _ handle: AttributeHandle, _ value: RawSpan, counter: UInt32, key: [UInt8]
  ) throws(ProcedureError) -> Bool {
    if let failure = bearer.failure { throw .bearer(failure) }
    guard bearer.configuration.channel == .fixed else { throw .misuse(.notOnThisBearer) }
    let limit = bearer.mtu - WriteCommand.headerLength - SignedWriteCommand.signatureLength
    guard value.byteCount <= limit else {
      throw .misuse(.valueTooLong(value.byteCount, limit: limit))
    }
    guard !bearer.isCongested else { return false }
    let head = [Opcode.signedWriteCommand.rawValue] + handle.octets + value.owned
    let signature = Signature.compute(over: head.span.bytes, counter: counter, key: key)
    bearer.command { out in
      SignedWriteCommand.encode(handle, value, signature: signature.span.bytes, into: &out)
    }
    return true
  }

  private func receive(_ pdu: borrowing PDU, for id: TransactionID, at now: Instant) {
    // Off the list first: whoever is told of the end may call the session again from there.
    guard let operation = finish(id) else { return }
    guard operation.receive(pdu, mtu: bearer.mtu) else { return }
    switch bearer.enqueueRequest(id, isContinuation: true) {
    case .waiting: operations.append((id, operation))
    case .refused(let limit): operation.fail(.misuse(.tooManyProcedures(limit: limit)))
    case .dead(let failure): operation.fail(.bearer(failure))
    }
  }

  private func transmit(_ id: TransactionID, _ operation: ClientOperation, at now: Instant) {
    do throws(ProcedureError) {
      try bearer.transmit(request: id, at: now) { (out: inout OutputRawSpan) throws(ProcedureError) in
        try operation.encodeRequest(into: &out)
      }
    } catch {
      bearer.release(request: id)
      finish(id)?.fail(error)
    }
  }

  private func finish(_ id: TransactionID) -> ClientOperation? {
    guard let index = operations.firstIndex(where: { $0.id == id }) else { return nil }
    return operations.remove(at: index).operation
  }

  // MARK: Time and the end

  /// Sends what has waited for a slot, and Service Changed if the client is owed it. Called by
  /// the session itself after each input; call it when the database has changed.
  public func pump(at now: Instant) {
    pumpRequests(at: now)
    pumpServiceChanged(at: now)
    pumpIndications(at: now)
  }

  private func pumpRequests(at now: Instant) {
    while let id = bearer.nextRequest() {
      if let entry = operations.first(where: { $0.id == id }) {
        transmit(id, entry.operation, at: now)
      } else {
        bearer.release(request: id)
      }
    }
  }

  private func pumpIndications(at now: Instant) {
    guard !bearer.holdsValues else { return }
    while let id = bearer.nextIndication() {
      guard let indication = indications.first(where: { $0.id == id }) else {
        bearer.cancel(indication: id)
        continue
      }
      bearer.transmit(indication: id, at: now) { out in
        HandleValueIndication.encode(
          indication.handle, indication.value.span.bytes, into: &out)
      }
    }
  }

  private func pumpServiceChanged(at now: Instant) {
    guard let server, let client, client.changed != nil, !client.isBeingTold,
      bearer.failure == nil, let owed = server.serviceChanged(for: client)
    else { return }
    do throws(ProcedureError) {
      _ = try indicate(owed.handle, owed.value, revision: server.database.revision, at: now)
      client.isBeingTold = true
    } catch {}  // As many indications wait as may: after one of them.
  }

  /// When ``advance(to:)`` wants to be called; nil if nothing is in flight.
  public var deadline: Instant? { bearer.deadline }

  /// Tells the session the time.
  public func advance(to now: Instant) -> SessionAction {
    guard case .failed(let failure)? = bearer.advance(to: now) else { return .none }
    end(failure)
    return .failed(failure)
  }

  /// The link has ended: so do all operations. Call once.
  public func linkEnded() {
    bearer.fail(.linkEnded)
    end(.linkEnded)
  }

  private func end(_ failure: BearerFailure) {
    let ended = operations
    operations = []
    // Another bearer of the client may tell it.
    if indications.contains(where: { $0.revision != nil }) { client?.isBeingTold = false }
    indications = []
    transaction.end()
    for entry in ended { entry.operation.fail(.bearer(failure)) }
  }

  private func takeTransactionID() -> TransactionID {
    defer { nextTransaction += 1 }
    return TransactionID(rawValue: nextTransaction)
  }
}

/// What the owner of a session does with the PDU it just handed in.
public enum SessionAction: Equatable, Sendable {
  case none
  /// Deliver the value of the Handle Value Notification.
  case notification
  /// Deliver the values of the Multiple Handle Value Notification.
  case notifications
  /// Deliver the value of the Handle Value Indication, then call ``Session/confirm()``.
  case indication
  /// The client has confirmed this indication.
  case confirmed(TransactionID)
  /// The bearer is dead and all operations have been told. Close the link.
  case failed(BearerFailure)
}
