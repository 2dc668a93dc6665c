import AttoATT
import AttoGATT

/// The environment of a case against a client: the client's link, and a server that knows the correct
/// responses. It checks each PDU of the client by the general rules.
final class ClientBench {
  let links: RecordedLinks
  private let session: Session
  /// How long the client may be idle before the case ends.
  let patience: Duration
  /// ATT_MTU of the link.
  private(set) var mtu = 23
  /// The client's requests in order.
  private(set) var requests: [[UInt8]] = []
  private(set) var confirmations = 0
  /// The client's responses to our requests.
  private(set) var responses: [[UInt8]] = []
  private var indicationsOpen = 0
  private var requestsOpen = 0
  private var offered = 0
  private var count = 0
  /// The number of times that each search was sent.
  private var searches: [[UInt8]: Int] = [:]
  /// Where the procedure of the last request goes on, if the correct response to it was sent.
  private var continuation: Continuation?
  /// The parts in the client's prepare queue, by the handle of the last one.
  private(set) var prepared = 0
  private var lastPart: (handle: UInt16, end: Int)?

  /// The most PDUs of a client.
  static let countLimit = 20_000
  static let repetitionLimit = 8
  /// The ATT_MTU that the server offers.
  private static let offeredMTU = 517
  /// The longest case, for clients that never stop, such as one that reads a value every second.
  static let timeLimit: Duration = .seconds(120)

  init(_ links: RecordedLinks, _ database: Database, patience: Duration) {
    self.links = links
    self.patience = patience
    let server = Server(database)
    session = Session(
      BearerConfiguration(receiveMTU: Self.offeredMTU), server: server, client: server.connect())
  }

  // MARK: The client's PDUs

  /// Receives the client's next request; nil if it is idle or gone, or the time is over.
  func nextRequest() async throws -> [UInt8]? {
    while links.elapsed < Self.timeLimit, let pdu = try await nextPDU(within: patience) {
      if Opcode(pdu[0]).kind == .request { return pdu }
    }
    return nil
  }

  /// Receives and checks the next PDU; nil if none arrives or the client is gone.
  func nextPDU(within time: Duration) async throws -> [UInt8]? {
    do {
      guard let pdu = try await links.receive(within: time) else { return nil }
      try check(pdu)
      return pdu
    } catch PeerError.ended {
      // A client may disconnect at any time.
      return nil
    }
  }

  private func check(_ pdu: [UInt8]) throws {
    guard let first = pdu.first else {
      throw Rule("No PDU is empty", "Vol 3, Part F, 3.3").broken("received an empty PDU")
    }
    count += 1
    try Rule("A client finishes its procedures", "Vol 3, Part G, 4.4 to 4.12").check(
      count < Self.countLimit, "received \(count) PDUs, \(requests.count) of them requests",
      got: pdu)
    try Rule.fits.check(
      pdu.count <= mtu, "received a PDU of \(pdu.count) octets with an ATT_MTU of \(mtu)", got: pdu)
    let opcode = Opcode(first)
    try Rule("A PDU has an opcode of the specification", "Vol 3, Part F, 3.4.8").check(
      opcode.definition != nil, "received \(PDU(pdu.span.bytes).summary)", got: pdu)
    // What the requests are about is checked below.
    if let finding = PDUFinding.findings(in: pdu).first {
      let rule =
        finding.isMalformed
        ? "A PDU has the form of its opcode" : "A PDU has parameters of the specification"
      throw Rule(rule, finding.section).broken(
        "\(finding.text), from octet \(finding.octet) of \(PDU(pdu.span.bytes).summary) on",
        got: pdu)
    }
    switch opcode.kind {
    case .request: try check(request: pdu)
    case .confirmation:
      confirmations += 1
      indicationsOpen -= 1
      try Rule("A confirmation belongs to an indication", "Vol 3, Part F, 3.4.7.3").check(
        indicationsOpen >= 0, "received a confirmation without an indication", got: pdu)
    case .response:
      responses.append(pdu)
      requestsOpen -= 1
      try Rule.matches.check(requestsOpen >= 0, "received a response without a request", got: pdu)
    case .notification, .indication:
      throw Rule(
        "A value is sent only to a peer that has subscribed to it", "Vol 3, Part G, 3.3.3.3"
      )
      .broken("received \(PDU(pdu.span.bytes).summary)", got: pdu)
    default: break
    }
  }

  private func check(request pdu: [UInt8]) throws {
    requests.append(pdu)
    try continuation?.check(pdu) { answer(to: $0).first != 0x01 }
    continuation = nil
    if pdu[0] == 0x10 {
      let types = [0x2800, 0x2801].map { octets($0) }
      try Rule("Read By Group Type is for service declarations", "Vol 3, Part F, 3.4.4.9").check(
        pdu.count > 7 || types.contains(Array(pdu[5...])),
        "received \(PDU(pdu.span.bytes).summary)",
        got: pdu)
    }
    if pdu[0] == 0x16 {
      let (handle, offset) = (number(pdu[1...]), Int(number(pdu[3...])))
      try Rule("The parts of a value follow each other", "Vol 3, Part G, 4.9.4").check(
        lastPart?.handle != handle || offset <= lastPart?.end ?? 0,
        "a part at \(offset) follows one that ends at \(lastPart?.end ?? 0)", got: pdu)
      lastPart = (handle, offset + pdu.count - 5)
      prepared += 1
    } else if pdu[0] == 0x18 {
      (lastPart, prepared) = (nil, 0)
    }
    if [0x04, 0x06, 0x08, 0x10].contains(pdu[0]) {
      let same = searches[pdu, default: 0] + 1
      searches[pdu] = same
      try Rule("A client ends a search that makes no progress", "Vol 3, Part G, 4.4 to 4.7").check(
        same <= Self.repetitionLimit, "received one request \(same) times, of \(requests.count)",
        got: pdu)
      let (start, end) = (number(pdu[1...]), number(pdu[3...]))
      try Rule("A range starts at 0x0001 or later and not after its end", "Vol 3, Part F, 3.4.3.1")
        .check(start > 0 && start <= end, "received \(PDU(pdu.span.bytes).summary)", got: pdu)
    }
    if pdu[0] == 0x02 {
      offered += 1
      try Rule("A client exchanges ATT_MTU once on a link", "Vol 3, Part F, 3.4.2.1").check(
        offered == 1, "received a second request", got: pdu)
    }
  }

  /// Checks that no request arrives before the response to the last one.
  ///
  /// - Parameter time: how long the client has to wait.
  func checkPatience(for time: Duration) async throws {
    let end = links.elapsed + time
    repeat {
      guard let pdu = try await nextPDU(within: max(.zero, end - links.elapsed)) else { return }
      if Opcode(pdu[0]).kind == .request { throw early(pdu) }
    } while links.elapsed < end
  }

  private func early(_ pdu: [UInt8]) -> CaseStop {
    Rule(
      "A client sends a request only after the response to the preceding one",
      "Vol 3, Part F, 3.3.2"
    ).broken("received another request before the response", got: pdu)
  }

  /// Remembers where the procedure of the last request goes on after its correct response.
  func expectContinuation(after response: [UInt8]) {
    continuation = requests.last.flatMap { Continuation(of: $0, after: response, mtu: mtu) }
  }

  // MARK: Our PDUs

  /// The correct response to a request.
  func answer(to request: [UInt8]) -> [UInt8] {
    _ = session.receive(request.span.bytes, at: .zero)
    var answer: [UInt8] = []
    var next: [UInt8] = []
    while !session.bearer.outbox.isEmpty {
      session.bearer.outbox.removeFirst(into: &next)
      if let first = next.first, Opcode(first).kind == .response { answer = next }
    }
    return answer
  }

  /// Sends a PDU, and updates ATT_MTU and the expected confirmations and responses.
  func send(_ pdu: [UInt8]) async throws {
    switch pdu.first.map({ Opcode($0).kind }) {
    case .indication?: indicationsOpen += 1
    case .request?: requestsOpen += 1
    default: break
    }
    if pdu.count == 3, pdu[0] == 0x03, let request = requests.last, request[0] == 0x02 {
      mtu = max(23, min(Int(number(request[1...])), Int(number(pdu[1...]))))
    }
    do throws(PeerError) {
      try await links.send(pdu)
    } catch {
      guard case .ended = error else { throw error }
    }
  }
}
