import ATT
import GATT

/// What a case against a client works with: a link that the client has opened, and a server that
/// knows what the right answers are.
///
/// Every PDU of the client is judged by the rules that hold in any case; what a case does wrong on
/// purpose it does in place of the right answer, or before it.
final class ClientBench {
  let wire: Wire
  private let session: Session
  /// How long the client may do nothing before the case ends.
  let patience: Duration
  /// ATT_MTU of the link.
  private(set) var mtu = 23
  /// Requests of the client, in order.
  private(set) var requests: [[UInt8]] = []
  private(set) var confirmations = 0
  /// Responses of the client to our requests.
  private(set) var responses: [[UInt8]] = []
  private var indicationsOpen = 0
  private var requestsOpen = 0
  private var offered = 0
  private var count = 0
  /// How often each search came.
  private var searches: [[UInt8]: Int] = [:]

  /// PDUs after which a client goes round in circles.
  static let countLimit = 20_000
  static let repetitionLimit = 8
  /// The time that a case takes of a client that goes on for ever, as one does that reads a value
  /// every second: what it has done by then is judged.
  static let timeLimit: Duration = .seconds(120)

  init(_ wire: Wire, _ database: Database, mtu: Int, patience: Duration) {
    self.wire = wire
    self.patience = patience
    let server = Server(database)
    session = Session(
      BearerConfiguration(receiveMTU: mtu), server: server, client: server.connect())
  }

  // MARK: The client's PDUs

  /// The next request of the client; nil if it does nothing more, has gone, or the time is over.
  func nextRequest() async throws(CaseStop) -> [UInt8]? {
    while wire.elapsed < Self.timeLimit, let pdu = try await nextPDU(within: patience) {
      if Opcode(pdu[0]).kind == .request { return pdu }
    }
    return nil
  }

  /// The next PDU, judged; nil if none came, or the client has gone.
  func nextPDU(within time: Duration) async throws(CaseStop) -> [UInt8]? {
    let pdu: [UInt8]
    do throws(CaseStop) {
      guard let received = try await wire.receive(within: time) else { return nil }
      pdu = received
    } catch {
      // To go is a client's right.
      guard case .link(.ended) = error else { throw error }
      return nil
    }
    try judge(pdu)
    return pdu
  }

  private func judge(_ pdu: [UInt8]) throws(CaseStop) {
    guard let first = pdu.first else {
      throw Rule("No PDU is empty", "Vol 3, Part F, 3.3").broken("an empty PDU came")
    }
    count += 1
    guard count < Self.countLimit else {
      throw Rule("A client does what it is there for, and ends", "Vol 3, Part G, 4.4 to 4.12")
        .broken("\(count) PDUs came, \(requests.count) of them requests", got: pdu)
    }
    guard pdu.count <= mtu else {
      throw Rule.fits.broken(
        "a PDU of \(pdu.count) octets came while ATT_MTU is \(mtu)", got: pdu)
    }
    let opcode = Opcode(first)
    if case .malformed = PDU(pdu.span.bytes) {
      throw Rule("A PDU has the form of its opcode", "Vol 3, Part F, 3.4").broken(
        "\(PDU(pdu.span.bytes).summary)", got: pdu)
    }
    switch opcode.kind {
    case .request: try judge(request: pdu)
    case .confirmation:
      confirmations += 1
      indicationsOpen -= 1
      guard indicationsOpen >= 0 else {
        throw Rule("A confirmation belongs to an indication", "Vol 3, Part F, 3.4.7.3").broken(
          "one came that confirms nothing", got: pdu)
      }
    case .response:
      responses.append(pdu)
      requestsOpen -= 1
      guard requestsOpen >= 0 else {
        throw Rule.matches.broken("a response came to no request", got: pdu)
      }
    default: break
    }
  }

  private func judge(request pdu: [UInt8]) throws(CaseStop) {
    requests.append(pdu)
    if [0x04, 0x06, 0x08, 0x10].contains(pdu[0]) {
      let same = searches[pdu, default: 0] + 1
      searches[pdu] = same
      guard same <= Self.repetitionLimit else {
        throw Rule(
          "A client ends a search that does not get on", "Vol 3, Part G, 4.4 to 4.7"
        ).broken("one request came \(same) times, of \(requests.count)", got: pdu)
      }
      let (start, end) = (number(pdu[1...]), number(pdu[3...]))
      guard start > 0, start <= end else {
        throw Rule(
          "A range begins at 0x0001 or later and not behind its end", "Vol 3, Part F, 3.4.3.1"
        ).broken("\(PDU(pdu.span.bytes).summary) came", got: pdu)
      }
    }
    if pdu[0] == 0x02 {
      offered += 1
      guard offered == 1 else {
        throw Rule("A client exchanges ATT_MTU once on a link", "Vol 3, Part F, 3.4.2.1").broken(
          "a second request came", got: pdu)
      }
    }
  }

  /// Requests that came before the one before them was answered.
  func judgePatience() async throws(CaseStop) {
    guard let pdu = try await nextPDU(within: .milliseconds(50)) else { return }
    guard Opcode(pdu[0]).kind == .request else { return }
    throw Rule(
      "A client sends a request only when the one before has been answered",
      "Vol 3, Part F, 3.3.2"
    ).broken("another came before its response", got: pdu)
  }

  // MARK: Ours

  /// What a server should answer to a request.
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

  /// Sends one PDU, and keeps what it makes of ATT_MTU and of what the client owes.
  func send(_ pdu: [UInt8]) async throws(CaseStop) {
    switch pdu.first.map({ Opcode($0).kind }) {
    case .indication?: indicationsOpen += 1
    case .request?: requestsOpen += 1
    default: break
    }
    if pdu.count == 3, pdu[0] == 0x03, let request = requests.last, request[0] == 0x02 {
      mtu = max(23, min(Int(number(request[1...])), Int(number(pdu[1...]))))
    }
    do throws(CaseStop) {
      try await wire.send(pdu)
    } catch {
      guard case .link(.ended) = error else { throw error }
    }
  }
}
