import AttoATT
import AttoFormats

/// Plays cases of transcripts against a live peer.
///
/// # Theory
///
/// The player goes through the steps in order. It sends the PDUs of its own part, and waits for those
/// of the peer's part and compares them. The first difference ends the case, because the rest would
/// be out of step. A case is skipped, with a reason, if it requires an action of the peer's user (a
/// changed database, a value that the application sends, a bond), more security than the link has, or
/// enhanced bearers that the peer does not open.
public struct TranscriptPlay {
  /// The part of the peer under test.
  public enum Role: Sendable {
    /// The peer is the server.
    case server
    /// The peer is the client.
    case client
  }

  /// The part of the peer under test.
  public let role: Role
  /// How long to wait for each PDU of the peer.
  public var patience: Duration = .seconds(30)
  /// Cases with a longer wait are skipped.
  public var longestWait: Duration = .seconds(86_400)
  /// The security of the link.
  public var security: LinkSecurity = .low
  /// Called with the procedure that the user of a client under test must start.
  public var prompt: ([String]) -> Void = { _ in }

  /// Creates a player against a peer with this part.
  public init(role: Role) { self.role = role }

  /// Whether a case tests peers with this role. It tests servers if it names a profile or sends a
  /// client's PDU without a preceding procedure, as the transcripts of `atto fuzz` do.
  public func applies(_ test: Transcript.Case, in transcript: Transcript) -> Bool {
    (transcript.profile(of: test) != nil || startsWithClient(test)) == (role == .server)
  }

  private func startsWithClient(_ test: Transcript.Case) -> Bool {
    for step in test.steps {
      switch step.action {
      case .client: return true
      case .server, .procedure: return false
      default: continue
      }
    }
    return false
  }

  /// Plays one case on its own links.
  ///
  /// - Throws: `cancelled`. All other failures are in the report.
  public func play(
    _ test: Transcript.Case, with peer: any TestPeer
  ) async throws(PeerError) -> CaseReport {
    if let reason = obstacle(test) {
      return CaseReport(name: test.name, title: test.title, outcome: .skipped(reason))
    }
    let links = RecordedLinks(peer)
    return try await CaseReport.running(test.name, test.title, on: links) {
      for step in test.steps { try await play(step, links) }
    }
  }

  /// Why a case cannot be played against a live peer; nil if it can.
  private func obstacle(_ test: Transcript.Case) -> String? {
    for step in test.steps {
      switch step.action {
      case .wait(let time) where time > longestWait, .silence(let time) where time > longestWait:
        return "it waits for \(time) on line \(step.line)"
      case .security(let wanted) where wanted != security:
        return "it needs a link with security \(wanted) on line \(step.line)"
      case .database: return "the peer's database must change on line \(step.line)"
      case .notify, .indicate:
        return "the peer's application must send a value on line \(step.line)"
      case .bond: return "it needs a bond on line \(step.line)"
      case .procedure where role == .server:
        return "the peer must start a procedure on line \(step.line)"
      case .procedure(["hold"]): return "the client must not confirm on line \(step.line)"
      case .turn where role == .client: return "it needs several clients on line \(step.line)"
      case .bearers where role == .client:
        return "the client chooses the bearers of its procedures (line \(step.line))"
      case .server(let pattern) where role == .client && pattern.bytes == nil:
        return "\(pattern) matches several PDUs on line \(step.line)"
      default: continue
      }
    }
    return nil
  }

  private func play(_ step: Transcript.Step, _ links: RecordedLinks) async throws {
    links.turn(toBearer: step.bearer)
    switch (step.action, role) {
    case (.client(let pdu), .server):
      try await expectNothing(links, step, within: .zero)
      try await links.send(pdu)
    case (.client(let pdu), .client):
      try await expect(Transcript.Pattern(pdu), links, step)
    case (.server(let pattern), .server): try await expect(pattern, links, step)
    case (.server(let pattern), .client): try await links.send(pattern.bytes ?? [])
    case (.wait(let time), _): try await links.wait(time)
    case (.silence(let time), _):
      try await expectNothing(links, step, within: time)
      for bearer in links.enhancedBearers {
        links.turn(toBearer: bearer)
        try await expectNothing(links, step, within: .zero)
      }
    case (.bearers(let count, let mtu), _): try await links.openBearers(count, mtu: mtu)
    case (.close(let bearer), _): await links.closeBearer(bearer)
    case (.turn(let client), _): links.turn(to: client)
    case (.procedure(let words), .client): prompt(words)
    case (.reconnect, _):
      await links.close()
      try await links.open()
    case (.disconnect, _): await links.close()
    case (.procedure, .server), (.result, _), (.security, _), (.database, _), (.notify, _),
      (.indicate, _), (.bond, _):
      break
    }
  }

  private func expect(
    _ pattern: Transcript.Pattern, _ links: RecordedLinks, _ step: Transcript.Step
  ) async throws {
    let wanted = pattern.bytes.map { "\(pattern)  \(PDU($0.span.bytes).summary)" } ?? "\(pattern)"
    guard let pdu = try await links.receive(within: patience) else {
      throw difference("no PDU arrived within \(patience)", step, expected: wanted)
    }
    guard !pattern.matches(pdu) else { return }
    throw difference("received another PDU", step, expected: wanted, got: pdu)
  }

  private func expectNothing(
    _ links: RecordedLinks, _ step: Transcript.Step, within time: Duration
  ) async throws {
    guard let pdu = try await links.receive(within: time) else { return }
    throw difference("received an unexpected PDU", step, expected: "nothing", got: pdu)
  }

  private func difference(
    _ happened: String, _ step: Transcript.Step, expected: String, got pdu: [UInt8]? = nil
  ) -> CaseStop {
    let summary = pdu.map { ": \(PDU($0.span.bytes).summary)" } ?? ""
    let finding = Finding(
      "The transcript's line", happened + summary, line: step.line, expected: expected, got: pdu)
    return CaseStop(outcome: .broken(finding))
  }
}
