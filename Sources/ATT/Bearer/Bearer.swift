/// One ATT instance on one channel: client and server at once. Vol 3, Part F, 3.2.11 and 3.3.
///
/// # Theory
///
/// A bearer carries two independent conversations in each direction. As a client it has one
/// request in flight; as a server one indication. The peer has the same. Commands and
/// notifications belong to neither and pass at any time. So the machine consists of three
/// parts that do not know each other:
///
/// - the request slot: our request, and the deadline of its response;
/// - the indication slot: our indication, and the deadline of its confirmation;
/// - the server side: `idle`, or `busy` with the peer's request until the owner responds.
///   Requests that arrive meanwhile break the protocol; they are held, in order and up to a
///   limit, so that answers can never overtake each other.
///
/// ATT_MTU is 23 until an exchange ends (Vol 3, Part F, 3.4.2). Each direction may exchange
/// once; what counts is the least value either side has named, and 23 at the least. A server
/// that is asked again answers again with the same value, and nothing changes, so that no peer
/// can shrink a bearer in use; unless the link may be reused (``BearerConfiguration``). While our own exchange is in flight, notifications and
/// indications are held back (`holdsValues`); the peer's requests are answered at the old MTU.
///
/// A bearer dies of a timeout, of a response that cannot be the answer to the request in
/// flight, of too many pipelined requests, or with its link. A dead bearer sends nothing.
/// Requests that are malformed, unknown or too long get an Error Response and are no reason to
/// die (Vol 3, Part F, 3.4.1.1).
///
/// # Use
///
/// Decode what arrives with ``PDU``, hand it to ``receive(_:octets:at:)`` and do what the
/// action says. Whatever the bearer wants sent stands in ``outbox``, in order: transmit it and
/// remove it. While ``isCongested``, take nothing from the link: each PDU may be worth a response,
/// and a peer that does not read them must not make the outbox grow. Time is a parameter; call
/// ``advance(to:)`` at ``deadline``.
///
/// # Speed
///
/// What only looks is `@inlinable`: a borrow of a bearer that lies in a class is passed to a
/// function that is not by copying all of its some 400 octets, which costs more than the look. So
/// is what sends requests, commands and notifications, with their encoders: each is then one
/// function at its caller, which writes straight into the outbox.
public struct Bearer: ~Copyable {
  /// What it was made with.
  public let configuration: BearerConfiguration
  /// PDUs for the link, in order.
  public var outbox = PDUQueue()
  /// ATT_MTU now.
  public private(set) var mtu: Int
  /// Why the bearer is dead; nil while it lives.
  public private(set) var failure: BearerFailure?
  /// PDUs that had no effect.
  public private(set) var ignoredCount: UInt64 = 0

  /// The configuration's, in the clock's own unit: dividing a `Duration` for each request costs
  /// more than all else that a request needs here.
  @usableFromInline let timeout: Int64
  @usableFromInline var requests: TransactionSlot
  @usableFromInline var indications: TransactionSlot
  @usableFromInline var serverIsBusy = false
  @usableFromInline var held = PDUQueue()
  @usableFromInline var ownExchange = Exchange.open
  private var peerExchange = Exchange.open

  /// One direction's exchange of ATT_MTU.
  @usableFromInline enum Exchange: Equatable {
    case open
    case inFlight(UInt16)
    /// The lesser of both values.
    case done(Int)
    /// The peer did not exchange: what else was agreed on stays.
    case refused
  }

  /// A bearer on which nothing has passed yet, at the default ATT_MTU of its channel.
  public init(_ configuration: BearerConfiguration = BearerConfiguration()) {
    precondition((23...65535).contains(configuration.receiveMTU), "ATT_MTU is 23 to 65535")
    self.configuration = configuration
    timeout = (Instant.zero + configuration.transactionTimeout).nanoseconds
    requests = TransactionSlot(limit: configuration.maximumWaiting)
    indications = TransactionSlot(limit: configuration.maximumWaiting)
    mtu = if case .enhanced(let mtu) = configuration.channel { mtu } else { Self.defaultMTU }
  }

  /// ATT_MTU of LE's fixed channel before an exchange. Vol 3, Part G, 5.2.1.
  public static let defaultMTU = 23

  // MARK: Receiving

  /// The longest that a PDU may be, by its opcode: ATT_MTU, but for what a peer sends on a link
  /// that may have been used before. Decode with this.
  @inlinable public func receiveLimit(_ octets: RawSpan) -> Int {
    guard configuration.linkMayBeReused, ownExchange == .open, octets.byteCount > mtu else {
      return mtu
    }
    return switch Opcode(octets.octet(at: 0)).kind {
    case .response, .notification, .indication: octets.byteCount
    case .request, .command, .confirmation: mtu
    }
  }

  /// Takes one PDU from the link.
  ///
  /// - Parameters:
  ///   - pdu: decoded with this bearer's ``receiveLimit(_:)``.
  ///   - octets: the same PDU as it arrived.
  public mutating func receive(
    _ pdu: borrowing PDU, octets: RawSpan, at now: Instant
  ) -> BearerAction {
    guard failure == nil else { return ignore(.dead) }
    // What arrives after its deadline is too late, even if nobody has looked at the clock.
    if let timeout = advance(to: now) { return timeout }
    switch pdu {
    case .malformed(let malformed):
      guard let opcode = malformed.opcode else { return ignore(.empty) }
      switch opcode.kind {
      case .request: return refuse(opcode, .invalidPDU, octets)
      case .response: return receiveMalformedResponse(malformed, opcode)
      case .indication:
        confirm()
        return ignore(.malformed(opcode))
      case .command, .notification, .confirmation: return ignore(.malformed(opcode))
      }
    case .unknown(let opcode, _):
      return opcode.isCommand
        ? ignore(.unknownCommand(opcode)) : refuse(opcode, .requestNotSupported, octets)
    case .exchangeMTURequest(let request): return receive(request, octets)
    case .exchangeMTUResponse(let response):
      if case .inFlight(let sent) = ownExchange,
        requests.opcodeInFlight == .exchangeMTURequest
      {
        ownExchange = .done(min(Int(sent), Int(response.serverReceiveMTU)))
        agreeOnMTU()
      }
      return receiveResponse(.exchangeMTUResponse)
    case .errorResponse(let error):
      guard let request = requests.opcodeInFlight else {
        return ignore(.unsolicitedResponse(.errorResponse))
      }
      guard error.request == request else {
        return die(.mismatchedResponse(request: request, response: .errorResponse))
      }
      if request == .exchangeMTURequest { ownExchange = .refused }
      return completeRequest()
    case .handleValueNotification, .multipleHandleValueNotification: return .notification
    case .handleValueIndication: return .indication
    case .handleValueConfirmation:
      guard indications.opcodeInFlight != nil else { return ignore(.unsolicitedConfirmation) }
      guard let id = indications.complete() else { return ignore(.abandoned) }
      return .confirmation(id)
    case .writeCommand, .signedWriteCommand: return .command
    case .findInformationResponse: return receiveResponse(.findInformationResponse)
    case .findByTypeValueResponse: return receiveResponse(.findByTypeValueResponse)
    case .readByTypeResponse: return receiveResponse(.readByTypeResponse)
    case .readResponse: return receiveResponse(.readResponse)
    case .readBlobResponse: return receiveResponse(.readBlobResponse)
    case .readMultipleResponse: return receiveResponse(.readMultipleResponse)
    case .readByGroupTypeResponse: return receiveResponse(.readByGroupTypeResponse)
    case .writeResponse: return receiveResponse(.writeResponse)
    case .prepareWriteResponse: return receiveResponse(.prepareWriteResponse)
    case .executeWriteResponse: return receiveResponse(.executeWriteResponse)
    case .readMultipleVariableResponse: return receiveResponse(.readMultipleVariableResponse)
    case .findInformationRequest, .findByTypeValueRequest, .readByTypeRequest, .readRequest,
      .readBlobRequest, .readMultipleRequest, .readByGroupTypeRequest, .writeRequest,
      .prepareWriteRequest, .executeWriteRequest, .readMultipleVariableRequest:
      guard !serverIsBusy else { return hold(octets) }
      serverIsBusy = true
      return .request
    }
  }

  private mutating func receiveResponse(_ opcode: Opcode) -> BearerAction {
    guard let request = requests.opcodeInFlight else {
      return ignore(.unsolicitedResponse(opcode))
    }
    guard request.response == opcode else {
      return die(.mismatchedResponse(request: request, response: opcode))
    }
    return completeRequest()
  }

  private mutating func receiveMalformedResponse(
    _ pdu: MalformedPDU, _ opcode: Opcode
  ) -> BearerAction {
    guard requests.opcodeInFlight != nil else { return ignore(.unsolicitedResponse(opcode)) }
    return die(.malformedResponse(pdu))
  }

  private mutating func completeRequest() -> BearerAction {
    guard let id = requests.complete() else { return ignore(.abandoned) }
    return .response(id)
  }

  /// Answers what the server need not see: requests that are unknown or malformed.
  private mutating func refuse(
    _ opcode: Opcode, _ code: ErrorCode, _ octets: RawSpan
  ) -> BearerAction {
    guard !serverIsBusy else { return hold(octets) }
    let error = ErrorResponse(request: opcode, handle: .invalid, code: code)
    transmit { out in error.encode(into: &out) }
    return .answered
  }

  private mutating func receive(_ request: ExchangeMTURequest, _ octets: RawSpan) -> BearerAction {
    guard configuration.channel == .fixed else {
      return refuse(.exchangeMTURequest, .requestNotSupported, octets)
    }
    guard !serverIsBusy else { return hold(octets) }
    let response = ExchangeMTUResponse(serverReceiveMTU: UInt16(configuration.receiveMTU))
    transmit { out in response.encode(into: &out) }
    if peerExchange == .open || configuration.linkMayBeReused {
      peerExchange = .done(min(configuration.receiveMTU, Int(request.clientReceiveMTU)))
      agreeOnMTU()
    }
    return .answered
  }

  private mutating func agreeOnMTU() {
    var agreed = Int.max
    if case .done(let value) = ownExchange { agreed = min(agreed, value) }
    if case .done(let value) = peerExchange { agreed = min(agreed, value) }
    if agreed < Int.max { mtu = max(Self.defaultMTU, agreed) }
  }

  private mutating func hold(_ octets: RawSpan) -> BearerAction {
    guard held.count < configuration.maximumPipelined else {
      return die(.tooManyPipelinedRequests(limit: configuration.maximumPipelined))
    }
    // A PDU beyond the MTU of this moment is refused when its turn comes, whatever the MTU is
    // then. Of its opcode alone, no request is made.
    held.append(octets.byteCount > mtu ? octets.extracting(first: 1) : octets)
    return .held
  }

  private mutating func ignore(_ reason: BearerAction.Ignored) -> BearerAction {
    ignoredCount += 1
    return .ignored(reason)
  }

  private mutating func die(_ reason: BearerFailure) -> BearerAction {
    fail(reason)
    return .failed(reason)
  }

  /// Kills the bearer, as the end of its link does. What waited in the outbox is dropped.
  public mutating func fail(_ reason: BearerFailure) {
    guard failure == nil else { return }
    failure = reason
    outbox.removeAll()
    held.removeAll()
    requests.close()
    indications.close()
    serverIsBusy = false
  }

  // MARK: Server side

  /// Answers the peer's request.
  ///
  /// - Parameter response: one PDU of at most ATT_MTU octets.
  public mutating func respond(_ response: RawSpan) {
    guard failure == nil else { return }
    precondition(serverIsBusy, "no request waits for a response")
    precondition(response.byteCount <= mtu, "a response is no longer than ATT_MTU")
    outbox.append(response)
    serverIsBusy = false
  }

  /// Answers the peer's request with the one PDU of a queue, which is empty then: not copied, but
  /// the queue itself becomes the outbox, if that is empty too.
  public mutating func respond(from queue: inout PDUQueue) {
    guard failure == nil else { return queue.removeAll() }
    precondition(serverIsBusy, "no request waits for a response")
    precondition(queue.count == 1, "a request has one response")
    precondition(queue.firstLength <= mtu, "a response is no longer than ATT_MTU")
    if outbox.isEmpty {
      swap(&outbox, &queue)
    } else {
      if let response = queue.first { outbox.append(response) }
      queue.removeAll()
    }
    serverIsBusy = false
  }

  /// A request that was held while an earlier one was unanswered: decode it and hand it to
  /// ``receive(_:octets:at:)`` again. False if none waits or the earlier one still does.
  public mutating func takeHeldRequest(into octets: inout [UInt8]) -> Bool {
    guard !serverIsBusy, !held.isEmpty else { return false }
    held.removeFirst(into: &octets)
    return true
  }

  /// Whether a request of the peer waits for its response.
  @inlinable public var owesResponse: Bool { serverIsBusy }

  /// Confirms the peer's indication.
  public mutating func confirm() {
    guard failure == nil else { return }
    transmit { out in out.append(Opcode.handleValueConfirmation) }
  }

  /// Notifications and indications must wait: our exchange of ATT_MTU is in flight. Vol 3,
  /// Part F, 3.4.2.2.
  @inlinable public var holdsValues: Bool {
    if case .inFlight = ownExchange { true } else { false }
  }

  /// Appends a notification. Not while ``holdsValues``.
  @inlinable public mutating func notify(_ encode: (inout OutputRawSpan) -> Void) {
    guard failure == nil else { return }
    precondition(!holdsValues, "no notification during the exchange of ATT_MTU")
    transmit(encode)
  }

  /// Queues a transaction for the indication slot.
  public mutating func enqueueIndication(_ id: TransactionID) -> Enqueued {
    if let failure { return .dead(failure) }
    return indications.enqueue(id)
  }

  /// Queues a transaction for the indication slot before all others, and beyond the limit of
  /// those that wait: for the one indication that must not come after values, Service Changed.
  public mutating func enqueueFirstIndication(_ id: TransactionID) -> Enqueued {
    if let failure { return .dead(failure) }
    indications.enqueueFirst(id)
    return .waiting
  }

  /// Grants the indication slot, if it is free, to the one that waits longest.
  public mutating func nextIndication() -> TransactionID? { indications.grantNext() }

  /// Appends the indication of the transaction that holds the slot. Not while ``holdsValues``.
  public mutating func transmit(
    indication id: TransactionID, at now: Instant, _ encode: (inout OutputRawSpan) -> Void
  ) {
    precondition(!holdsValues, "no indication during the exchange of ATT_MTU")
    transmit(encode)
    indications.transmit(
      id, .handleValueIndication, deadline: now.advanced(by: timeout))
  }

  /// Forgets an indication. If it is on the wire, its confirmation will be dropped.
  public mutating func cancel(indication id: TransactionID) { indications.cancel(id) }

  // MARK: Client side

  /// Queues a transaction for the request slot.
  ///
  /// - Parameter isContinuation: for the next request of a procedure whose response has just
  ///   come, which the limit of those that wait does not stop halfway.
  public mutating func enqueueRequest(
    _ id: TransactionID, isContinuation: Bool = false
  ) -> Enqueued {
    if let failure { return .dead(failure) }
    return requests.enqueue(id, isContinuation: isContinuation)
  }

  /// Whether ``nextRequest()`` has one to name.
  @inlinable public var canGrantRequest: Bool { requests.canGrant }

  /// Whether ``nextIndication()`` has one to name.
  @inlinable public var canGrantIndication: Bool { indications.canGrant }

  /// Whether ``takeHeldRequest(into:)`` has one to give.
  @inlinable public var hasHeldRequest: Bool { !serverIsBusy && !held.isEmpty }

  /// Grants the request slot, if it is free, to the one that waits longest.
  public mutating func nextRequest() -> TransactionID? { requests.grantNext() }

  /// Appends the request of the transaction that holds the slot.
  ///
  /// If `encode` throws, nothing is sent and the slot is still held.
  @inlinable public mutating func transmit<E: Error>(
    request id: TransactionID, at now: Instant,
    _ encode: (inout OutputRawSpan) throws(E) -> Void
  ) throws(E) {
    let length = try outbox.append(limit: mtu, encode)
    precondition(length > 0, "a request has an opcode")
    let opcode = Opcode(outbox.last(length).octet(at: 0))
    if opcode == .exchangeMTURequest {
      let value = length == 3 ? outbox.last(length).uint16(at: 1) : 0
      ownExchange = .inFlight(value)
    }
    requests.transmit(id, opcode, deadline: now.advanced(by: timeout))
  }

  /// Gives the request slot back unused.
  public mutating func release(request id: TransactionID) { requests.release(id) }

  /// Forgets a request. If it is on the wire, its response will be dropped and the slot stays
  /// taken until then.
  public mutating func cancel(request id: TransactionID) { requests.cancel(id) }

  /// Whether this side may exchange ATT_MTU: once, on the fixed channel.
  public var canExchangeMTU: Bool { configuration.channel == .fixed && ownExchange == .open }

  /// Appends a command.
  @inlinable public mutating func command(_ encode: (inout OutputRawSpan) -> Void) {
    guard failure == nil else { return }
    transmit(encode)
  }

  /// Appends any PDU, at the caller's peril: for those who test the peer.
  public mutating func transmitRaw(_ pdu: RawSpan) {
    guard failure == nil else { return }
    outbox.append(pdu)
  }

  // MARK: Time and room

  /// Whether so much waits for the link that nothing more should be produced.
  @inlinable public var isCongested: Bool { outbox.byteCount >= configuration.outboxLimit }

  /// When ``advance(to:)`` wants to be called; nil if nothing is in flight.
  @inlinable public var deadline: Instant? {
    switch (requests.deadline, indications.deadline) {
    case (let a?, let b?): min(a, b)
    case (let a, let b): a ?? b
    }
  }

  /// The request whose response is awaited, and when that will be too late; nil if none is.
  /// Vol 3, Part F, 3.3.2 and 3.3.3.
  public var awaitedRequest: (opcode: Opcode, deadline: Instant)? {
    guard let opcode = requests.opcodeInFlight, let deadline = requests.deadline else { return nil }
    return (opcode, deadline)
  }

  /// Tells the bearer the time. `nil` unless a transaction has timed out, and with it the
  /// bearer.
  public mutating func advance(to now: Instant) -> BearerAction? {
    guard let deadline, deadline <= now else { return nil }
    let opcode =
      requests.deadline == deadline ? requests.opcodeInFlight : indications.opcodeInFlight
    return die(.transactionTimeout(opcode ?? .handleValueIndication))
  }

  @inlinable mutating func transmit(_ encode: (inout OutputRawSpan) -> Void) {
    outbox.append(limit: mtu, encode)
  }
}
