import AttoATT

// The server side of a session: the peer's requests, our notifications and indications.

extension Session {
  /// Executes a request and sends the response.
  ///
  /// The response is encoded outside the bearer, and the transaction is moved out of the session
  /// meanwhile, because the application that the server asks may use this session. The response is
  /// not copied if the outbox is empty.
  func respond(to pdu: borrowing PDU, _ octets: RawSpan) {
    var isAnswered = true
    var transaction = ServerTransaction()
    swap(&transaction, &self.transaction)
    response.append(limit: bearer.mtu) { (out: inout OutputRawSpan) in
      // `guard let` would retain and release both.
      guard server != nil, client != nil else { return Self.refuse(pdu, octets, &out) }
      let action = server!.execute(
        pdu, octets: octets, from: client!, transaction: &transaction, into: &out)
      isAnswered = action == .respond
    }
    if bearer.failure == nil { self.transaction = transaction }
    if isAnswered { bearer.respond(from: &response) } else { response.removeAll() }
  }

  /// Refuses a request because there is no server: no handle has an attribute.
  static func refuse(
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

  /// Passes on the application's answer to a question that it had postponed.
  ///
  /// - Returns: false, without any effect, if the request no longer exists.
  @discardableResult
  public func answer(_ id: QuestionID, _ answer: LateAnswer, at now: Instant) -> Bool {
    guard let server, server.answer(id, answer, transaction: &transaction) else { return false }
    let request = transaction.request
    let octets = request.span.bytes
    let pdu = PDU(octets)
    respond(to: pdu, octets)
    receiveHeldRequests(at: now)
    pump(at: now)
    return true
  }

  /// Executes the requests that arrived while an earlier one was unanswered, in order.
  func receiveHeldRequests(at now: Instant) {
    guard bearer.hasHeldRequest else { return }
    var request = held
    held = []
    while bearer.dequeueHeldRequest(into: &request) {
      let octets = request.span.bytes
      // It was measured against ATT_MTU when it arrived, which may have been larger.
      let pdu = PDU(octets)
      switch bearer.receive(pdu, octets: octets, at: now) {
      case .request: respond(to: pdu, octets)
      default: break
      }
    }
    held = request
  }

  /// How a value may be sent to this client now; see ``Server/deliveries(of:to:)``. Empty without a
  /// server.
  public func deliveries(of value: AttributeHandle) -> ClientCharacteristicConfiguration {
    // `guard let` would retain and release both.
    guard server != nil, client != nil else { return [] }
    return server!.deliveries(of: value, to: client!)
  }

  /// Whether ``notify(_:_:)-(_,RawSpan)`` would send now.
  public var hasRoomForValues: Bool { bearer.failure == nil && hasRoom }

  /// Sends a value as a notification. Vol 3, Part G, 4.10.1.
  ///
  /// The value is cut at ATT_MTU - 3 octets.
  ///
  /// - Returns: false, with nothing sent, during the exchange of ATT_MTU, while the outbox is full,
  ///   and if the bearer has failed.
  public func notify(_ handle: AttributeHandle, _ value: RawSpan) -> Bool {
    guard hasRoomForValues else { return false }
    bearer.notify { out in HandleValueNotification.encode(handle, value, into: &out) }
    return true
  }

  /// Sends several values in one notification. Vol 3, Part G, 4.10.2.
  ///
  /// - Returns: false, with nothing sent, if the client does not support it, the values do not fit,
  ///   or ``hasRoomForValues`` is false.
  public func notify(_ values: [(handle: AttributeHandle, value: [UInt8])]) -> Bool {
    let length = values.reduce(1) { $0 + 4 + $1.value.count }
    guard values.count > 1, length <= bearer.mtu, hasRoomForValues,
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
  /// - Returns: the identifier that ``SessionAction/confirmed(_:)`` will have.
  /// - Throws: `misuse` (`tooManyIndications`) if the queue is full, `bearer` if the bearer has
  ///   failed.
  public func indicate(
    _ handle: AttributeHandle, _ value: [UInt8], at now: Instant
  ) throws(ProcedureError) -> TransactionID {
    let id = newTransactionID()
    switch bearer.enqueueIndication(id) {
    case .waiting: indications.append(Indication(id: id, handle: handle, value: value))
    case .refused(let limit): throw .misuse(.tooManyIndications(limit: limit))
    case .dead(let failure): throw death(failure)
    }
    pumpIndications(at: now)
    return id
  }

  /// Cancels an indication. Its confirmation will not be reported.
  public func cancel(indication id: TransactionID) {
    indications.removeAll { $0.id == id }
    bearer.cancel(indication: id)
  }

  func confirmed(_ id: TransactionID) -> SessionAction {
    if let told = serviceChanged, told.id == id {
      serviceChanged = nil
      if let server, let client, let revision = told.revision {
        server.confirmServiceChanged(client, revision)
      }
      return .none
    }
    guard let index = indications.firstIndex(where: { $0.id == id }) else { return .none }
    indications.remove(at: index)
    return .confirmed(id)
  }

  /// Sends Service Changed, then the queued indications. Values for a client that supports robust
  /// caching and is not aware of the database wait until it is, because their handles could be
  /// wrong for it. Vol 3, Part G, 2.5.2.1.
  func pumpIndications(at now: Instant) {
    guard !bearer.holdsValues else { return }
    while waitsToTell || client?.isOutOfSync != true, let id = bearer.nextIndication() {
      if id == serviceChanged?.id {
        tellServiceChanged(id, at: now)
      } else if let indication = indications.first(where: { $0.id == id }) {
        bearer.transmit(indication: id, at: now) { out in
          HandleValueIndication.encode(
            indication.handle, indication.value.span.bytes, into: &out)
        }
      } else {
        bearer.cancel(indication: id)
      }
    }
  }

  /// Whether Service Changed is the first indication in the queue.
  private var waitsToTell: Bool { serviceChanged != nil && serviceChanged?.revision == nil }

  /// Sends Service Changed. Its value is computed now, because more may have changed since it was
  /// queued, or the client may have turned it off.
  private func tellServiceChanged(_ id: TransactionID, at now: Instant) {
    guard let server, let client, let owed = server.serviceChanged(for: client) else {
      serviceChanged = nil
      client?.isBeingTold = false
      return bearer.cancel(indication: id)
    }
    serviceChanged?.revision = server.database.revision
    bearer.transmit(indication: id, at: now) { out in
      HandleValueIndication.encode(owed.handle, owed.value.span.bytes, into: &out)
    }
  }

  /// Queues Service Changed, if it is pending and no other bearer of the client has queued it. It
  /// goes before all values, so that no value follows the change without it.
  func pumpServiceChanged(at now: Instant) {
    guard let server, let client, client.changed != nil, !client.isBeingTold,
      bearer.failure == nil, server.serviceChanged(for: client) != nil
    else { return }
    let id = newTransactionID()
    guard bearer.enqueueFirstIndication(id) == .waiting else { return }
    serviceChanged = ServiceChanged(id: id, revision: nil)
    client.isBeingTold = true
  }
}
