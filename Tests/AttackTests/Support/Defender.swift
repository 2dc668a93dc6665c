import ATT
import GATT
import Simulation
import Testing

/// One end of a link under attack, octet by octet: a server with one client at it, or a client of
/// whatever the test sends.
final class Defender {
  let server: Server?
  let client: ServerClient?
  let session: Session
  var now = Instant.zero
  /// What the session had its owner do, but for nothing.
  var actions: [SessionAction] = []

  /// A client, with no server of its own.
  init(_ configuration: BearerConfiguration = BearerConfiguration()) {
    server = nil
    client = nil
    session = Session(configuration)
  }

  init(
    _ server: Server, _ configuration: BearerConfiguration = BearerConfiguration(),
    security: LinkSecurity = .low
  ) {
    self.server = server
    client = server.connect(security: security)!
    session = Session(configuration, server: server, client: client)
  }

  convenience init(_ services: ServiceDefinition..., security: LinkSecurity = .low) {
    self.init(Server(Database(services)), security: security)
  }

  /// Another bearer of the same client.
  init(beside other: Defender, _ configuration: BearerConfiguration) {
    server = other.server
    client = other.client
    session = Session(configuration, server: server, client: client)
  }

  /// Hands a PDU in and returns what the session wants sent.
  @discardableResult func take(_ pdu: [UInt8]) -> [String] {
    let action = session.receive(pdu.span.bytes, at: now)
    if action != .none { actions.append(action) }
    if action == .indication { session.confirm() }
    return sent
  }

  @discardableResult func take(_ pdu: String) -> [String] { take(octets(pdu)) }

  /// Begins a procedure; what it sends is in ``sent``.
  func start<P: Procedure>(_ procedure: P) -> RecordedOperation<P> {
    let operation = RecordedOperation(procedure)
    session.start(operation, at: now)
    return operation
  }

  /// A procedure whose request, which is passed over, gets these responses.
  func perform<P: Procedure>(_ procedure: P, _ responses: String...) -> Result<
    P.Output, ProcedureError
  >? {
    let operation = start(procedure)
    _ = sent
    for response in responses { take(response) }
    return operation.result
  }

  /// What waits for the link, taken from there.
  var sent: [String] {
    var pdus: [String] = []
    var pdu: [UInt8] = []
    while !session.bearer.outbox.isEmpty {
      session.bearer.outbox.removeFirst(into: &pdu)
      pdus.append(text(pdu))
    }
    return pdus
  }

  /// Sends a notification, if the session takes it.
  func notify(_ handle: AttributeHandle, _ value: [UInt8]) -> Bool {
    session.notify(handle, value.span.bytes)
  }

  func exchange(_ mtu: UInt16) { take([0x02, UInt8(mtu & 0xFF), UInt8(mtu >> 8)]) }

  var failure: BearerFailure? { session.bearer.failure }
  var mtu: Int { session.bearer.mtu }

  func value(of handle: AttributeHandle) -> [UInt8]? { server?.database.value(of: handle) }
}

extension Database {
  init(_ services: [ServiceDefinition]) {
    self.init()
    for service in services { try! add(service) }
  }
}

/// The service at 0x0001 whose values are at 0x0003, 0x0005, and so on.
func service(_ characteristics: CharacteristicDefinition...) -> ServiceDefinition {
  ServiceDefinition(0x1800, handle: 1, characteristics: characteristics)
}

/// A value that can be read and written, if not otherwise said.
func value(
  _ octets: [UInt8], _ permissions: AttributePermissions = .readWrite,
  _ properties: CharacteristicProperties = [.read, .write], limits: ValueLimits = ValueLimits(),
  descriptors: [DescriptorDefinition] = []
) -> CharacteristicDefinition {
  CharacteristicDefinition(
    0x2A00, properties: properties, value: .stored(octets, limits), permissions: permissions,
    descriptors: descriptors)
}

/// A value that the application has.
func asked() -> CharacteristicDefinition {
  CharacteristicDefinition(
    0x2A00, properties: [.read, .write], value: .application(ValueLimits()),
    permissions: .readWrite)
}

extension Result {
  var error: Failure? { if case .failure(let error) = self { error } else { nil } }
  var isSuccess: Bool { error == nil }
}

extension ProcedureError {
  var isViolation: Bool { if case .violation = self { true } else { false } }
}

/// An Error Response as a procedure tells it.
func refusal(_ request: Opcode, _ handle: AttributeHandle, _ code: ErrorCode) -> ProcedureError {
  .refused(ErrorResponse(request: request, handle: handle, code: code))
}
