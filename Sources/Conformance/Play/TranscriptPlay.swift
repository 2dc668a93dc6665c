import ATT
import Files

/// Plays cases of transcripts against a live peer.
///
/// # Theory
///
/// The lines are taken in order. What the player's part sends it sends; for what the peer's part
/// sends it waits, and compares. The first difference ends the case, because what follows would
/// be out of step. A case that needs the peer's hand (a database that changes, values that its
/// application sends, a bond) or more security than the link has is left out, and says why.
public struct TranscriptPlay {
  /// Whose part the peer under test has.
  public enum Role: Sendable {
    /// It answers them.
    case server
    /// It sends requests.
    case client
  }

  /// The part that is played; the peer has the other.
  public let role: Role
  /// How long a PDU of the peer may take.
  public var patience: Duration = .seconds(30)
  /// Cases that wait longer than this at a time are left out.
  public var longestWait: Duration = .seconds(86_400)
  /// What the link offers.
  public var security: LinkSecurity = .low
  /// Told what the person at a client has to do.
  public var prompt: ([String]) -> Void = { _ in }

  /// Plays this part.
  public init(role: Role) { self.role = role }

  /// Whether a case is about peers of this role: about servers if it names their profile, or asks
  /// something without telling a client to do so, as the transcripts of `atto fuzz` do.
  public func applies(_ test: Transcript.Case, in transcript: Transcript) -> Bool {
    (transcript.profile(of: test) != nil || asksByItself(test)) == (role == .server)
  }

  private func asksByItself(_ test: Transcript.Case) -> Bool {
    for step in test.steps {
      switch step.action {
      case .client: return true
      case .server, .procedure: return false
      default: continue
      }
    }
    return false
  }

  /// Plays one case on links of its own.
  ///
  /// - Throws: `cancelled` alone; all else is in the report.
  public func play(
    _ test: Transcript.Case, with peer: any Peer
  ) async throws(PeerError) -> CaseReport {
    if let why = obstacle(test) {
      return CaseReport(name: test.name, title: test.title, outcome: .skipped(why))
    }
    let wire = Wire(peer)
    var stop: CaseStop?
    do throws(CaseStop) {
      try await wire.open()
      for step in test.steps { try await take(step, wire) }
    } catch {
      stop = error
    }
    let report = try CaseReport(test.name, test.title, stop, wire)
    await wire.closeAll()
    return report
  }

  /// Why a case cannot be played against a live peer.
  private func obstacle(_ test: Transcript.Case) -> String? {
    for step in test.steps {
      switch step.action {
      case .wait(let time) where time > longestWait, .silence(let time) where time > longestWait:
        return "it waits for \(time), on line \(step.line)"
      case .security(let wanted) where wanted != security:
        return "it wants a link with security \(wanted), on line \(step.line)"
      case .database: return "the peer's database has to change, on line \(step.line)"
      case .notify, .indicate: return "the peer's application has to send, on line \(step.line)"
      case .bond: return "it wants a bond, on line \(step.line)"
      case .procedure where role == .server:
        return "the peer has to begin a procedure, on line \(step.line)"
      case .procedure(["hold"]): return "the client has to hold back, on line \(step.line)"
      case .turn where role == .client: return "it is about several clients, on line \(step.line)"
      case .server(let pattern) where role == .client && pattern.bytes == nil:
        return "\(pattern) is not one PDU, on line \(step.line)"
      default: continue
      }
    }
    return nil
  }

  private func take(_ step: Transcript.Step, _ wire: Wire) async throws(CaseStop) {
    switch (step.action, role) {
    case (.client(let pdu), .server):
      try await expectNothing(wire, step, within: .zero)
      try await wire.send(pdu)
    case (.client(let pdu), .client):
      try await expect(Transcript.Pattern(pdu), wire, step)
    case (.server(let pattern), .server): try await expect(pattern, wire, step)
    case (.server(let pattern), .client): try await wire.send(pattern.bytes ?? [])
    case (.wait(let time), _): try await wire.wait(time)
    case (.silence(let time), _): try await expectNothing(wire, step, within: time)
    case (.turn(let client), _): wire.turn(to: client)
    case (.procedure(let words), .client): prompt(words)
    case (.reconnect, _):
      await wire.close()
      try await wire.open()
    case (.disconnect, _): await wire.close()
    case (.procedure, .server), (.result, _), (.security, _), (.database, _), (.notify, _),
      (.indicate, _), (.bond, _):
      break
    }
  }

  private func expect(
    _ pattern: Transcript.Pattern, _ wire: Wire, _ step: Transcript.Step
  ) async throws(CaseStop) {
    let wanted = pattern.bytes.map { "\(pattern)  \(PDU($0.span.bytes).summary)" } ?? "\(pattern)"
    guard let pdu = try await wire.receive(within: patience) else {
      throw .broken(
        Finding(
          "The transcript's line", "nothing came within \(patience)", line: step.line,
          expected: wanted))
    }
    guard !pattern.matches(pdu) else { return }
    throw .broken(
      Finding(
        "The transcript's line", "another PDU came: \(PDU(pdu.span.bytes).summary)",
        line: step.line, expected: wanted, got: pdu))
  }

  private func expectNothing(
    _ wire: Wire, _ step: Transcript.Step, within time: Duration
  ) async throws(CaseStop) {
    guard let pdu = try await wire.receive(within: time) else { return }
    throw .broken(
      Finding(
        "The transcript's line", "a PDU came unasked: \(PDU(pdu.span.bytes).summary)",
        line: step.line, expected: "nothing", got: pdu))
  }
}
