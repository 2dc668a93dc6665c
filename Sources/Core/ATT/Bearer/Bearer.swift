/// One ATT instance on one channel: client and server at once. Vol 3, Part F, 3.2.11 and 3.3.
///
/// # Theory
///
/// Each side of a bearer may have one request in flight as a client and one indication in flight as
/// a server. Commands and notifications are sent at any time. So the state machine has three
/// independent parts:
///
/// - the request slot: our request, and the deadline of its response;
/// - the indication slot: our indication, and the deadline of its confirmation;
/// - the server side: idle, or busy with the peer's request until the owner responds. The peer
///   breaks the protocol if it sends another request meanwhile. Such requests are held, in order
///   and up to a limit, so that responses keep their order.
///
/// ATT_MTU is 23 until an exchange ends (Vol 3, Part F, 3.4.2). Each side may exchange it once. The
/// result is the smallest value that either side has named, but at least 23. A server that is asked
/// again sends the same response again, and ATT_MTU does not change, so that a peer cannot shrink a
/// bearer in use. The exception is a link that may be reused (``BearerConfiguration``). While our
/// own exchange is in flight, notifications and indications wait (`holdsValues`), and the peer's
/// requests are answered at the old MTU.
///
/// A bearer fails on a timeout, on a response that does not belong to the request in flight or is
/// malformed, on too many pipelined requests, and when its link ends. After a wrong response, later
/// ones could not be matched to their requests. A failed bearer sends nothing. Malformed, unknown
/// and oversized requests get an Error Response, and the bearer continues (Vol 3, Part F, 3.4.1.1).
///
/// # Use
///
/// Decode each received PDU with ``PDU``, pass it to ``receive(_:octets:at:)`` and carry out the
/// action. ``outbox`` has the PDUs to send, in order: send and remove them. While ``isCongested``,
/// read nothing from the link, because each PDU may cause a response, and a peer that does not read
/// must not make the outbox grow. Time is a parameter; call ``advance(to:)`` at ``deadline``.
///
/// # Speed
///
/// Read-only accessors are `@inlinable`, because a bearer stored in a class is copied, all of its
/// 400 bytes, to call a function that is not. Functions that send requests, commands and
/// notifications are `@inlinable` too, so that the caller's encoder writes directly into the
/// outbox.
public struct Bearer: ~Copyable {
  /// The configuration that it was created with.
  public let configuration: BearerConfiguration
  /// The PDUs to send, in order.
  public var outbox = PDUQueue()
  /// The current ATT_MTU.
  public private(set) var mtu: Int
  /// Why the bearer has failed; nil if it has not.
  public private(set) var failure: BearerFailure?
  /// The number of PDUs that had no effect.
  public private(set) var ignoredCount: UInt64 = 0

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
    /// The smaller of both values.
    case done(Int)
    /// The peer refused. ATT_MTU stays as it was.
    case refused
  }

  /// Creates a bearer for a new link, with the initial ATT_MTU of its channel.
  public init(_ configuration: BearerConfiguration = BearerConfiguration()) {
    precondition((23...65535).contains(configuration.receiveMTU), "ATT_MTU is 23 to 65535")
    self.configuration = configuration
    requests = TransactionSlot(limit: configuration.maximumWaiting)
    indications = TransactionSlot(limit: configuration.maximumWaiting)
    mtu = if case .enhanced(let mtu) = configuration.channel { mtu } else { Self.defaultMTU }
  }

  /// ATT_MTU on the fixed channel of LE before an exchange. Vol 3, Part G, 5.2.1.
  public static let defaultMTU = 23

  // MARK: Receiving

  /// The maximum length of this PDU, for decoding it. It is ATT_MTU, except for responses and
  /// values on a link that may be reused.
  @inlinable public func receiveLimit(_ octets: RawSpan) -> Int {
    guard configuration.linkMayBeReused, ownExchange == .open, octets.byteCount > mtu else {
      return mtu
    }
    return switch Opcode(octets.octet(at: 0)).kind {
    case .response, .notification, .indication: octets.byteCount
    case .request, .command, .confirmation: mtu
    }
  }

  /// Receives one PDU from the link.
  ///
  /// - Parameters:
  ///   - pdu: decoded with this bearer's ``receiveLimit(_:)``.
  ///   - octets: the same PDU as it arrived.
  public mutating func receive(
    _ pdu: borrowing PDU, octets: RawSpan, at now: Instant
  ) -> BearerAction {
    guard failure == nil else { return ignore(.dead) }
    // A response after its deadline is too late, even if `advance` was not called at the deadline.
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
        return die(.mismatchedError(request: request, named: error.request))
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

  /// Refuses an unknown or malformed request without the server.
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
    // A PDU longer than the current MTU is refused when its turn comes, whatever the MTU is by
    // then: the opcode alone is a malformed request.
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

  /// Fails the bearer, as the end of its link does, and empties its outbox.
  public mutating func fail(_ reason: BearerFailure) {
    guard failure == nil else { return }
    failure = reason
    outbox.removeAll()
    held.removeAll()
    requests.close()
    indications.close()
    serverIsBusy = false
  }

  /// Sets ATT_MTU of an enhanced bearer, whose channel was reconfigured. Does nothing on the fixed
  /// channel, nor with a smaller number: a channel cannot be reconfigured to a smaller MTU (Vol 3,
  /// Part A, 4.27).
  public mutating func setChannelMTU(_ octets: Int) {
    if configuration.channel != .fixed, octets <= 65535 { mtu = max(mtu, octets) }
  }

  // MARK: Time and room

  /// Whether the outbox has reached its limit. Produce nothing more until it has shrunk.
  @inlinable public var isCongested: Bool { outbox.byteCount >= configuration.outboxLimit }

  /// When to call ``advance(to:)``; nil if nothing is in flight.
  @inlinable public var deadline: Instant? {
    switch (requests.deadline, indications.deadline) {
    case (let a?, let b?): min(a, b)
    case (let a, let b): a ?? b
    }
  }

  /// The request in flight and the deadline of its response; nil if there is none. Vol 3, Part F,
  /// 3.3.2 and 3.3.3.
  public var awaitedRequest: (opcode: Opcode, deadline: Instant)? {
    guard let opcode = requests.opcodeInFlight, let deadline = requests.deadline else { return nil }
    return (opcode, deadline)
  }

  /// Tells the bearer the time. Returns `failed` if a transaction has timed out, otherwise nil.
  public mutating func advance(to now: Instant) -> BearerAction? {
    guard let deadline, deadline <= now else { return nil }
    let opcode =
      requests.deadline == deadline ? requests.opcodeInFlight : indications.opcodeInFlight
    return die(.transactionTimeout(opcode ?? .handleValueIndication))
  }

  /// Frees the memory of empty queues until they are used again.
  public mutating func trim() {
    if outbox.isEmpty { outbox = PDUQueue() }
    if held.isEmpty { held = PDUQueue() }
  }

  @inlinable mutating func transmit(_ encode: (inout OutputRawSpan) -> Void) {
    outbox.append(limit: mtu, encode)
  }
}
