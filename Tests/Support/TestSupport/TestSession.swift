import AttoATT
import AttoGATT

/// A session whose peer is the test: a server with one client, or a client without a server. PDUs go
/// in and come out as octets or text, and time moves only when the test sets it.
package final class TestSession {
  private let attached: (server: Server, client: ServerClient)?
  package let session: Session
  package var now = Instant.zero
  /// The actions that the session returned, without `none`.
  package var actions: [SessionAction] = []

  /// A client without a server.
  package init(_ configuration: BearerConfiguration = BearerConfiguration()) {
    attached = nil
    session = Session(configuration)
  }

  package init(
    _ server: Server, _ configuration: BearerConfiguration = BearerConfiguration(),
    security: LinkSecurity = .low, record: ClientRecord? = nil
  ) {
    let client = server.connect(security: security, record: record)!
    attached = (server, client)
    session = Session(configuration, server: server, client: client)
  }

  package convenience init(_ database: Database, security: LinkSecurity = .low) {
    self.init(Server(database), security: security)
  }

  package convenience init(_ services: ServiceDefinition..., security: LinkSecurity = .low) {
    self.init(Database(services), security: security)
  }

  /// Another bearer of the same client.
  package init(beside other: TestSession, _ configuration: BearerConfiguration) {
    attached = other.attached
    session = Session(configuration, server: other.server, client: other.client)
  }

  /// The server. A session made without one has none.
  package var server: Server { attached!.server }
  package var client: ServerClient { attached!.client }

  /// Delivers a PDU of the peer and returns the PDUs that the session sends. A client without a
  /// server confirms indications at once.
  @discardableResult package func send(_ pdu: [UInt8]) -> [String] {
    let action = session.receive(pdu.span.bytes, at: now)
    if action != .none { actions.append(action) }
    if action == .indication, attached == nil { session.confirm() }
    return sent
  }

  @discardableResult package func send(_ pdu: String) -> [String] { send(octets(pdu)) }

  /// The PDUs that wait for the link; they are removed.
  package var sent: [String] { session.bearer.outbox.drain() }

  /// Sends a notification, if the session accepts it.
  package func notify(_ handle: AttributeHandle, _ value: [UInt8]) -> Bool {
    session.notify(handle, value.span.bytes)
  }

  /// The same for several values in one PDU.
  package func notify(_ values: [(AttributeHandle, [UInt8])]) -> Bool {
    session.notify(values.map { (handle: $0.0, value: $0.1) })
  }

  /// Answers a question after its request, and returns the PDUs that the session sends.
  @discardableResult package func answer(_ id: QuestionID, _ answer: LateAnswer) -> [String] {
    session.answer(id, answer, at: now)
    return sent
  }

  /// Exchanges the MTU as the peer.
  package func exchange(_ mtu: UInt16) { send([0x02, UInt8(mtu & 0xFF), UInt8(mtu >> 8)]) }

  package var failure: BearerFailure? { session.bearer.failure }
  package var mtu: Int { session.bearer.mtu }

  package func value(of handle: AttributeHandle) -> [UInt8]? { server.database.value(of: handle) }
}

extension Database {
  /// A database of these services, in order.
  package init(_ services: [ServiceDefinition]) {
    self.init()
    for service in services { try! add(service) }
  }

  package init(_ services: ServiceDefinition...) { self.init(services) }
}

/// An Error Response as a procedure reports it.
package func refusal(
  _ request: Opcode, _ handle: AttributeHandle, _ code: ErrorCode
) -> ProcedureError {
  .refused(ErrorResponse(request: request, handle: handle, code: code))
}
