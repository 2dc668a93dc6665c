/// The links of a case, with a record of their PDUs.
final class RecordedLinks {
  private let peer: any TestPeer
  private var links: [Int: any TestLink] = [:]
  private var current = 1
  private(set) var exchange: [ExchangedPDU] = []
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

  /// Switches to this client's link, which opens on first use.
  func turn(to client: Int) { current = client }

  /// Opens the current link unless it is open.
  func open() async throws(PeerError) { _ = try await link }

  func send(_ pdu: [UInt8]) async throws(PeerError) {
    let link = try await link
    record(ExchangedPDU(isFromPeer: false, pdu))
    try await link.send(pdu)
  }

  func receive(within time: Duration) async throws(PeerError) -> [UInt8]? {
    guard let pdu = try await link.receive(within: time) else { return nil }
    record(ExchangedPDU(isFromPeer: true, pdu))
    return pdu
  }

  func wait(_ time: Duration) async throws(PeerError) { try await link.wait(time) }

  func close() async {
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
      name: name, title: title, outcome: outcome, exchange: links.exchange, duration: links.elapsed)
    await links.closeAll()
    return report
  }
}

extension CaseReport.Outcome {
  fileprivate init(endedBy error: any Error) {
    switch error {
    case let stop as CaseStop: self = stop.outcome
    case PeerError.unreachable(let reason): self = .unreachable(reason)
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
