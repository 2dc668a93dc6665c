import AttoATT

/// A bearer with a GATT client and, optionally, a GATT server. Vol 3, Part G, 2.4. A connection with
/// enhanced bearers has a session for each: see ``SessionGroup``.
///
/// # Theory
///
/// The bearer handles transactions, the server handles attributes, and a procedure knows its next
/// request. A session connects the three: it passes PDUs and the time to them, and keeps the
/// operations that wait for responses. When a call returns, `bearer.outbox` has the PDUs to send.
///
/// Procedures take turns: after each response a procedure queues for the request slot again, behind
/// the others. So a long operation does not delay a short one.
///
/// Callbacks may call the session, because it updates its state before it calls them.
public final class Session {
  /// The bearer of both roles.
  @exclusivity(unchecked) public var bearer: Bearer
  /// The server for the peer's requests, or nil.
  public let server: Server?
  /// The server's state for the peer; nil without a server.
  public let client: ServerClient?

  @exclusivity(unchecked) var operations = OperationList()
  @exclusivity(unchecked) var indications: [Indication] = []
  @exclusivity(unchecked) private var nextTransaction: UInt64
  /// 0 for the unenhanced bearer, and the number of an enhanced one in its ``SessionGroup``.
  public let number: UInt8
  /// Whether procedures of this end may use the bearer.
  let carriesProcedures: Bool
  /// The operation that was cancelled in flight, until its response arrives.
  @exclusivity(unchecked) var abandoned: Abandoned?
  /// Whether writes were being prepared when the bearer ended.
  private(set) var wasPreparing = false
  /// The exchange of ATT_MTU, in flight or queued.
  @exclusivity(unchecked) var exchange: TransactionID?
  @exclusivity(unchecked) var transaction = ServerTransaction()
  @exclusivity(unchecked) var response = PDUQueue()
  @exclusivity(unchecked) var held: [UInt8] = []
  /// Whether the owner raises the link's security on ``SessionAction/securityWanted(_:)``.
  /// Otherwise operations receive such refusals like any other.
  @exclusivity(unchecked) public var asksForSecurity = false
  @exclusivity(unchecked) var insecure: [Insecure] = []
  /// How often the security was raised until now, and until the request in flight was sent.
  @exclusivity(unchecked) var rises: UInt64 = 0
  @exclusivity(unchecked) var requestRise: UInt64 = 0

  /// The Service Changed indication that is queued or in flight.
  var serviceChanged: ServiceChanged?
  /// How often the peer's server has answered Database Out Of Sync to any procedure, including
  /// cancelled ones. The server sends this error once and then considers the client informed. A
  /// client with a cached database must discover again when this changes. Vol 3, Part G, 2.5.2.1.
  public private(set) var outOfSyncCount: UInt64 = 0

  struct Indication {
    let id: TransactionID
    let handle: AttributeHandle
    let value: [UInt8]
  }

  struct ServiceChanged {
    let id: TransactionID
    /// The revision of the database that it reports; nil while it is queued.
    var revision: UInt32?
  }

  /// - Parameters:
  ///   - server: the server for the peer's requests. Without one, mandatory requests get Invalid
  ///     Handle or Attribute Not Found, and others Request Not Supported.
  ///   - client: the result of ``Server/connect(security:record:)``.
  public convenience init(
    _ configuration: BearerConfiguration = BearerConfiguration(), server: Server? = nil,
    client: ServerClient? = nil
  ) {
    self.init(configuration, server: server, client: client, number: 0, carriesProcedures: true)
  }

  init(
    _ configuration: BearerConfiguration, server: Server?, client: ServerClient?, number: UInt8,
    carriesProcedures: Bool
  ) {
    bearer = Bearer(configuration)
    self.server = server
    self.client = client
    self.number = number
    self.carriesProcedures = carriesProcedures
    // So that an identifier tells its bearer.
    nextTransaction = UInt64(number) << 56 | 1
  }

  // MARK: Receiving

  /// Receives one PDU from the link.
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
      receiveHeldRequests(at: now)
      pump(at: now)
      return .none
    case .command:
      // Signed writes exist on the fixed channel only. Vol 3, Part F, 3.4.5.4.
      if octets.octet(at: 0) == Opcode.signedWriteCommand.rawValue,
        bearer.configuration.channel != .fixed
      {
        return .none
      }
      // `if let` would retain and release both.
      if server != nil, client != nil { server!.execute(command: pdu, from: client!) }
      return .none
    case .answered:
      receiveHeldRequests(at: now)
      return .none
    case .response(let id):
      countOutOfSync(pdu)
      let action = keep(pdu, for: id)
      if action == nil { receive(pdu, for: id, at: now) }
      pump(at: now)
      return action ?? .none
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
      if Opcode(octets.octet(at: 0)).kind == .response { abandoned = nil }
      countOutOfSync(pdu)
      pump(at: now)
      return .none
    case .held, .ignored: return .none
    case .failed(let failure):
      end(failure)
      return .failed(failure)
    }
  }

  private func countOutOfSync(_ pdu: borrowing PDU) {
    switch pdu {
    case .errorResponse(let error):
      if error.code == .databaseOutOfSync { outOfSyncCount += 1 }
    default: break
    }
  }

  /// Confirms an indication, after its value was delivered or dropped.
  public func confirm() { bearer.confirm() }

  // MARK: Time and the end

  /// Sends what waits for a free slot, and Service Changed if it is pending.
  ///
  /// The session calls this after each input. Call it when the database has changed. If the client
  /// has several bearers, also call it on the others after each input and when one ends, because a
  /// client that is informed on one bearer can receive values on all of them.
  public func pump(at now: Instant) {
    if bearer.canGrantRequest { pumpRequests(at: now) }
    if client?.changed != nil { pumpServiceChanged(at: now) }
    if bearer.canGrantIndication { pumpIndications(at: now) }
  }

  /// When to call ``advance(to:)``; nil if nothing is in flight.
  public var deadline: Instant? { bearer.deadline }

  /// Tells the session the time, which may time out a transaction.
  public func advance(to now: Instant) -> SessionAction {
    guard case .failed(let failure)? = bearer.advance(to: now) else { return .none }
    end(failure)
    return .failed(failure)
  }

  /// Ends all operations, because the link has ended. Call this once.
  public func linkEnded() {
    bearer.fail(.linkEnded)
    end(.linkEnded)
  }

  /// Ends all operations, because the channel of this enhanced bearer has ended. Call this once.
  public func channelEnded() {
    bearer.fail(.channelEnded)
    end(bearer.failure ?? .channelEnded)
  }

  private func end(_ failure: BearerFailure) {
    // One that was cancelled in flight may have been executed or not.
    if operations.isPreparing || abandoned?.preparesWrites == true { wasPreparing = true }
    abandoned = nil
    let ended = operations.removeAll()
    // Another bearer of the client may send it.
    if serviceChanged != nil { client?.isBeingTold = false }
    serviceChanged = nil
    indications = []
    insecure = []
    transaction.end()
    for entry in ended { entry.operation.fail(death(failure)) }
  }

  func death(_ failure: BearerFailure) -> ProcedureError {
    number == 0 ? .bearer(failure) : .enhancedBearer(failure)
  }

  func newTransactionID() -> TransactionID {
    defer { nextTransaction += 1 }
    return TransactionID(rawValue: nextTransaction)
  }
}
