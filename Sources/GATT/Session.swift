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
  /// The bearer of both roles.
  @exclusivity(unchecked) public var bearer: Bearer
  /// What serves the peer; nil if nothing does.
  public let server: Server?
  /// What the server knows of the peer; nil without a server.
  public let client: ServerClient?

  @exclusivity(unchecked) var operations = OperationList()
  @exclusivity(unchecked) var indications: [Indication] = []
  @exclusivity(unchecked) private var nextTransaction: UInt64 = 1
  /// The exchange of ATT_MTU, be it still waiting for its turn.
  @exclusivity(unchecked) var exchange: TransactionID?
  @exclusivity(unchecked) var transaction = ServerTransaction()
  @exclusivity(unchecked) var response = PDUQueue()
  @exclusivity(unchecked) var held: [UInt8] = []
  /// Whether the owner raises the link's security when it is told `securityWanted`; see
  /// `Session+Security.swift`. Otherwise operations are told of refusals like of any other.
  @exclusivity(unchecked) public var asksForSecurity = false
  @exclusivity(unchecked) var insecure: [Insecure] = []
  /// How often the link has risen, and how often it had when the request on the wire was sent.
  @exclusivity(unchecked) var rises: UInt64 = 0
  @exclusivity(unchecked) var requestRise: UInt64 = 0

  /// The Service Changed that waits for the indication slot or is on the wire.
  var serviceChanged: ServiceChanged?
  /// How often the peer's server has answered Database Out Of Sync, to whichever procedure, also
  /// to one that nobody waits for any more. The server says so once and then takes the client
  /// for told: whoever remembers a database watches this and discovers anew. Vol 3, Part G,
  /// 2.5.2.1.
  public private(set) var outOfSyncCount: UInt64 = 0

  struct Indication {
    let id: TransactionID
    let handle: AttributeHandle
    let value: [UInt8]
  }

  struct ServiceChanged {
    let id: TransactionID
    /// The revision of the database that it tells of; nil while it waits.
    var revision: UInt32?
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
      // Not `if let`, which would count a reference to each up and down again.
      if server != nil, client != nil { server!.execute(command: pdu, from: client!) }
      return .none
    case .answered:
      takeHeldRequests(at: now)
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

  /// The value of an indication has been delivered, or dropped: confirms it.
  public func confirm() { bearer.confirm() }

  // MARK: Time and the end

  /// Sends what has waited for a slot, and Service Changed if the client is owed it. Called by
  /// the session itself after each input; call it when the database has changed, and, where a
  /// client has several bearers, on the others after each input and the end of one: what a client has been
  /// told on one of them lets the values on all of them go on.
  public func pump(at now: Instant) {
    if bearer.canGrantRequest { pumpRequests(at: now) }
    if client?.changed != nil { pumpServiceChanged(at: now) }
    if bearer.canGrantIndication { pumpIndications(at: now) }
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
    let ended = operations.takeAll()
    // Another bearer of the client may tell it.
    if serviceChanged != nil { client?.isBeingTold = false }
    serviceChanged = nil
    indications = []
    insecure = []
    transaction.end()
    for entry in ended { entry.operation.fail(.bearer(failure)) }
  }

  func takeTransactionID() -> TransactionID {
    defer { nextTransaction += 1 }
    return TransactionID(rawValue: nextTransaction)
  }
}
