import ATT

// The server side of a session: the peer's requests, our notifications and indications.

extension Session {
  /// The response is written beside the bearer and then handed to it, and the transaction is
  /// taken out of the session meanwhile, because the application that the server asks may use
  /// this session: to notify, or to end it. What is written is not copied if nothing else waits
  /// for the link.
  func respond(to pdu: borrowing PDU, _ octets: RawSpan) {
    var isAnswered = true
    var transaction = ServerTransaction()
    swap(&transaction, &self.transaction)
    response.append(limit: bearer.mtu) { (out: inout OutputRawSpan) in
      // Not `guard let`, which would count a reference to each up and down again.
      guard server != nil, client != nil else { return Self.refuse(pdu, octets, &out) }
      let action = server!.execute(
        pdu, octets: octets, from: client!, transaction: &transaction, into: &out)
      isAnswered = action == .respond
    }
    if bearer.failure == nil { self.transaction = transaction }
    if isAnswered { bearer.respond(from: &response) } else { response.removeAll() }
  }

  /// What a device without a database answers: there is nothing at any handle.
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
  func takeHeldRequests(at now: Instant) {
    guard bearer.hasHeldRequest else { return }
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

  /// How a value may be sent to this client now, as ``Server/deliveries(of:to:)`` says; not at all
  /// without a server.
  public func deliveries(of value: AttributeHandle) -> ClientCharacteristicConfiguration {
    // Not `guard let`, which would count a reference to each up and down again.
    guard server != nil, client != nil else { return [] }
    return server!.deliveries(of: value, to: client!)
  }

  /// Whether ``notify(_:_:)`` would send now.
  public var hasRoomForValues: Bool { bearer.failure == nil && hasRoom }

  /// Sends a value as a notification. Vol 3, Part G, 4.10.1.
  ///
  /// - Returns: false, and nothing sent, while the bearer exchanges its ATT_MTU or has too
  ///   much waiting for the link: try again when it has less. Also on a dead bearer, for ever.
  ///   The value is cut at ATT_MTU - 3.
  public func notify(_ handle: AttributeHandle, _ value: RawSpan) -> Bool {
    guard hasRoomForValues else { return false }
    bearer.notify { out in HandleValueNotification.encode(handle, value, into: &out) }
    return true
  }

  /// Sends several values in one notification, if the client understands it and they fit.
  /// Vol 3, Part G, 4.10.2. False, and nothing sent, otherwise.
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
  /// - Returns: the name that ``SessionAction/confirmed(_:)`` will bring back.
  /// - Throws: `misuse` (`tooManyIndications`) if too many wait already; `bearer` if the bearer is
  ///   dead.
  public func indicate(
    _ handle: AttributeHandle, _ value: [UInt8], at now: Instant
  ) throws(ProcedureError) -> TransactionID {
    let id = takeTransactionID()
    switch bearer.enqueueIndication(id) {
    case .waiting: indications.append(Indication(id: id, handle: handle, value: value))
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

  /// Sends Service Changed, then what waits. Values for a client that does not know the database
  /// and would understand being told so wait until it does, since their handles would mislead it.
  /// Vol 3, Part G, 2.5.2.1.
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

  /// Whether Service Changed is the next in the queue of indications.
  private var waitsToTell: Bool { serviceChanged != nil && serviceChanged?.revision == nil }

  /// What Service Changed says is decided when it goes: by then more may have changed, or the
  /// client may not want it any more.
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

  /// Queues Service Changed if the client is owed it and no bearer of the client has it yet:
  /// before all values, so that none of them follows the change without it.
  func pumpServiceChanged(at now: Instant) {
    guard let server, let client, client.changed != nil, !client.isBeingTold,
      bearer.failure == nil, server.serviceChanged(for: client) != nil
    else { return }
    let id = takeTransactionID()
    guard bearer.enqueueFirstIndication(id) == .waiting else { return }
    serviceChanged = ServiceChanged(id: id, revision: nil)
    client.isBeingTold = true
  }
}
