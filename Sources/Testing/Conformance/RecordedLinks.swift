/// The links of a case and their enhanced bearers, with a record of the PDUs.
final class RecordedLinks {
  private let peer: any TestPeer
  private var links: [Int: any TestLink] = [:]
  /// The client whose link is the current one.
  private(set) var current = 1
  /// The enhanced bearers of each client's link by number, and the last number.
  private var enhanced: [Int: (bearers: [Int: any TestLink], last: Int)] = [:]
  /// The bearer of the current link on which PDUs are sent and received; 0 is the unenhanced one.
  private(set) var bearer = 0
  private(set) var exchange: [ExchangedPDU] = []
  /// What the peer did that breaks no rule, and that its author should know.
  var notes: [Finding] = []
  private var closedTime: Duration = .zero
  private var recordedOctets = 0

  init(_ peer: any TestPeer) { self.peer = peer }

  private var link: any TestLink {
    get async throws(PeerError) {
      if let link = links[current] { return link }
      let link = try await peer.open()
      links[current] = link
      return link
    }
  }

  /// Switches to the unenhanced bearer of this client's link, which opens on first use.
  func turn(to client: Int) { (current, bearer) = (client, 0) }

  /// Switches to a bearer of the current link.
  func turn(toBearer number: Int) { bearer = number }

  /// Opens enhanced bearers on the current link, numbered from 1 on.
  ///
  /// - Throws: `PeerError`, and `CaseStop` if there are fewer than wanted.
  func openBearers(_ count: Int, mtu: Int) async throws {
    let opened = try await link.openBearers(count, mtu: mtu)
    var (bearers, last) = enhanced[current] ?? ([:], 0)
    for bearer in opened {
      last += 1
      bearers[last] = bearer
    }
    enhanced[current] = (bearers, last)
    guard opened.count >= count else {
      throw CaseStop.skipped("the peer accepts \(opened.count) of \(count) enhanced bearers")
    }
  }

  /// Closes an enhanced bearer of the current link.
  func closeBearer(_ number: Int) async {
    await enhanced[current]?.bearers.removeValue(forKey: number)?.close()
    if bearer == number { bearer = 0 }
  }

  /// The numbers of the open enhanced bearers of the current link.
  var enhancedBearers: [Int] { enhanced[current]?.bearers.keys.sorted() ?? [] }

  private var carrier: any TestLink {
    get async throws(PeerError) {
      guard bearer > 0 else { return try await link }
      guard let carrier = enhanced[current]?.bearers[bearer] else {
        throw .ended("bearer \(bearer) is closed")
      }
      return carrier
    }
  }

  /// Opens the current link unless it is open.
  func open() async throws(PeerError) { _ = try await link }

  func send(_ pdu: [UInt8]) async throws(PeerError) {
    let carrier = try await carrier
    record(ExchangedPDU(isFromPeer: false, pdu, bearer: bearer))
    try await carrier.send(pdu)
  }

  func receive(within time: Duration) async throws(PeerError) -> [UInt8]? {
    guard let pdu = try await carrier.receive(within: time) else { return nil }
    record(ExchangedPDU(isFromPeer: true, pdu, bearer: bearer))
    return pdu
  }

  func wait(_ time: Duration) async throws(PeerError) { try await link.wait(time) }

  func close() async {
    bearer = 0
    for bearer in enhanced.removeValue(forKey: current)?.bearers.values.map(\.self) ?? [] {
      await bearer.close()
    }
    guard let link = links.removeValue(forKey: current) else { return }
    closedTime += link.elapsed
    await link.close()
  }

  func closeAll() async {
    for client in links.keys.sorted() {
      current = client
      await close()
    }
  }

  /// The total time of all links.
  var elapsed: Duration { links.values.reduce(closedTime) { $0 + $1.elapsed } }

  private func record(_ pdu: ExchangedPDU) {
    recordedOctets += pdu.octets.count
    guard exchange.count < CaseReport.exchangeLimit, recordedOctets <= CaseReport.octetLimit else {
      return
    }
    exchange.append(pdu)
  }
}

/// Ends a case before its last line. A case may also end with a ``PeerError``.
struct CaseStop: Error {
  let outcome: CaseReport.Outcome

  static func skipped(_ reason: String) -> CaseStop { CaseStop(outcome: .skipped(reason)) }
  static func notExercised(_ reason: String) -> CaseStop {
    CaseStop(outcome: .notExercised(reason))
  }
}

extension CaseReport {
  /// Runs a case on links of its own and reports its outcome.
  ///
  /// - Throws: `cancelled`.
  static func running(
    _ name: String, _ title: String, on links: RecordedLinks, _ body: () async throws -> Void
  ) async throws(PeerError) -> CaseReport {
    var outcome = Outcome.passed
    do {
      try await links.open()
      try await body()
    } catch {
      if case PeerError.cancelled = error { throw .cancelled }
      outcome = Outcome(endedBy: error)
    }
    let report = CaseReport(
      name: name, title: title, outcome: outcome, exchange: links.exchange, duration: links.elapsed,
      notes: links.notes)
    await links.closeAll()
    return report
  }
}

extension CaseReport.Outcome {
  fileprivate init(endedBy error: any Error) {
    switch error {
    case let stop as CaseStop: self = stop.outcome
    case PeerError.unreachable(let reason): self = .unreachable(reason)
    case PeerError.noBearers(let reason): self = .skipped(reason)
    default:
      let reason = if case PeerError.ended(let reason) = error { reason } else { "\(error)" }
      let rule = Rule(
        "A peer does not close a link because of a PDU that it receives", "Vol 3, Part F, 3.4.1")
      self = rule.broken("the link ended during the case: \(reason)").outcome
    }
  }
}

/// A rule that peers must follow, and its section in the specification.
struct Rule: Sendable {
  let text: String
  let section: String

  init(_ text: String, _ section: String) {
    self.text = text
    self.section = section
  }

  /// A violation of the rule.
  func broken(_ happened: String, expected: String? = nil, got: [UInt8]? = nil) -> CaseStop {
    let finding = Finding(text, section: section, happened, expected: expected, got: got)
    return CaseStop(outcome: .broken(finding))
  }

  /// Ends the case with a violation of the rule, unless a condition holds.
  func check(
    _ holds: Bool, _ happened: @autoclosure () -> String, expected: String? = nil,
    got: [UInt8]? = nil
  ) throws {
    guard holds else { throw broken(happened(), expected: expected, got: got) }
  }
}

extension Rule {
  static let answered = Rule(
    "Every request gets exactly one response or error", "Vol 3, Part F, 3.3 and 3.4.1.1")
  static let fits = Rule("No PDU is longer than ATT_MTU", "Vol 3, Part F, 3.2.8")
  static let matches = Rule("A response belongs to the preceding request", "Vol 3, Part F, 3.3.2")
  static let quiet = Rule("A server sends nothing that was not requested", "Vol 3, Part F, 3.3.2")
  static let valueLimit = Rule("A value has at most 512 octets", "Vol 3, Part F, 3.2.9")
  static let errorForm = Rule(
    "An Error Response names the request, the handle and the reason", "Vol 3, Part F, 3.4.1.1")
  static let ending = Rule(
    "A case ends within the limits of this run", "not a rule of the specification")
  static let alive = Rule("A server keeps answering whatever it receives", "Vol 3, Part F, 3.4.1.1")
}
