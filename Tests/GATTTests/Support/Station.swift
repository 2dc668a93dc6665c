import ATT
import GATT
import Testing

/// One client's link to a server, byte by byte: what is sent is answered at once or not at all.
final class Station {
  let server: Server
  let client: ServerClient
  let session: Session
  var now = Instant.zero
  /// What the session had its owner do, but for nothing.
  var actions: [SessionAction] = []

  init(
    _ server: Server, _ configuration: BearerConfiguration = BearerConfiguration(),
    security: LinkSecurity = .low, record: ClientRecord? = nil
  ) {
    self.server = server
    client = server.connect(security: security, record: record)!
    session = Session(configuration, server: server, client: client)
  }

  /// Another bearer of the same client.
  init(beside other: Station, _ configuration: BearerConfiguration) {
    server = other.server
    client = other.client
    session = Session(configuration, server: server, client: client)
  }

  convenience init(_ database: Database, security: LinkSecurity = .low) {
    self.init(Server(database), security: security)
  }

  /// Hands a PDU in and returns what the session wants sent.
  @discardableResult func send(_ pdu: [UInt8]) -> [String] {
    let action = session.receive(pdu.span.bytes, at: now)
    if action != .none { actions.append(action) }
    return sent
  }

  @discardableResult func send(_ pdu: String) -> [String] { send(octets(pdu)) }

  /// What waits for the link, taken from there.
  var sent: [String] {
    var pdus: [String] = []
    var pdu: [UInt8] = []
    while !session.bearer.outbox.isEmpty {
      session.bearer.outbox.removeFirst(into: &pdu)
      pdus.append(hexText(pdu))
    }
    return pdus
  }

  /// Plays lines of `> PDU` and `< PDU`: each line of the first kind is sent, and what comes
  /// back must be the lines of the second kind that follow, no more and no less. `#` begins a
  /// comment.
  func play(_ transcript: String, sourceLocation: SourceLocation = #_sourceLocation) {
    var expected: [String] = []
    var got: [String] = []
    var last = ""
    func check() {
      #expect(got == expected, "after \(last)", sourceLocation: sourceLocation)
    }
    for line in transcript.split(separator: "\n") {
      let line = trimmed(line.prefix { $0 != "#" })
      guard let first = line.first else { continue }
      let pdu = octets(String(line.dropFirst()))
      if first == ">" {
        check()
        last = String(line)
        (expected, got) = ([], send(pdu))
      } else {
        precondition(first == "<", "neither > nor <: \(line)")
        expected.append(hexText(pdu))
      }
    }
    check()
  }

  /// Answers a question late and returns what the session wants sent.
  @discardableResult func answer(_ id: QuestionID, _ answer: LateAnswer) -> [String] {
    session.answer(id, answer, at: now)
    return sent
  }

  /// The ATT_MTU after an exchange that the client begins.
  func exchange(_ mtu: UInt16) {
    send([0x02, UInt8(mtu & 0xFF), UInt8(mtu >> 8)])
  }

  var failure: BearerFailure? { session.bearer.failure }
  var mtu: Int { session.bearer.mtu }
}

extension Database {
  /// A database of these services, in order.
  init(_ services: ServiceDefinition...) {
    self.init()
    for service in services { try! add(service) }
  }
}

/// A service at a handle with one characteristic for each value given; every characteristic
/// takes two handles, so that the values are at `handle` + 2, + 4, and so on.
func service(
  _ uuid: BluetoothUUID, at handle: AttributeHandle,
  _ characteristics: CharacteristicDefinition...
) -> ServiceDefinition {
  ServiceDefinition(uuid, handle: handle, characteristics: characteristics)
}

/// A characteristic that can be read and written, if not otherwise said.
func value(
  _ uuid: BluetoothUUID, _ value: ValueDefinition,
  _ permissions: AttributePermissions = .readWrite,
  _ properties: CharacteristicProperties = [.read, .write],
  descriptors: [DescriptorDefinition] = []
) -> CharacteristicDefinition {
  CharacteristicDefinition(
    uuid, properties: properties, value: value, permissions: permissions,
    descriptors: descriptors)
}

/// The GATT service with all that a server offers: Service Changed at 0x0003 with its
/// configuration at 0x0004, Client Supported Features at 0x0006, the hash at 0x0008.
let genericAttributeService = ServiceDefinition(
  .genericAttribute, handle: 1,
  characteristics: [
    CharacteristicDefinition(.serviceChanged, properties: .indicate, value: .constant([])),
    CharacteristicDefinition(
      .clientSupportedFeatures, properties: [.read, .write], value: .clientSupportedFeatures),
    CharacteristicDefinition(.databaseHash, properties: .read, value: .databaseHash),
  ])

private func trimmed(_ line: Substring) -> Substring {
  var line = line
  while line.first?.isWhitespace == true { line.removeFirst() }
  while line.last?.isWhitespace == true { line.removeLast() }
  return line
}
