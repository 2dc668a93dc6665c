import AttoATT
import AttoFormats

/// The steps of a script: one case of a transcript, without those that need control over the program
/// under test.
struct Script {
  /// The end of the link that plays.
  enum Role { case client, server }

  enum Step {
    case send([UInt8])
    case expect(Transcript.Pattern)
    case wait(Duration)
    case silence(Duration)
    case security(LinkSecurity)
    case disconnect
  }

  /// The steps, each with its line and that line's text.
  let steps: [(step: Step, line: Int, text: String)]

  /// - Throws: `invalid`.
  init(_ text: String, for role: Role) throws(ScriptError) {
    let transcript: Transcript
    do throws(TranscriptError) {
      transcript = try Transcript(text: Array(text.utf8), file: "script")
    } catch {
      throw .invalid("\(error)")
    }
    guard transcript.cases.count == 1 else {
      throw .invalid("expected one heading \"# NAME  title\", found \(transcript.cases.count)")
    }
    var steps: [(Step, Int, String)] = []
    for line in transcript.cases[0].steps {
      guard let step = Step(line.action, for: role) else {
        throw .invalid("script:\(line.line): \"\(line)\" cannot be played here")
      }
      steps.append((step, line.line, "\(line)"))
    }
    self.steps = steps
  }
}

extension Script.Step {
  /// nil for a step that this role cannot play.
  init?(_ action: Transcript.Action, for role: Script.Role) {
    switch (action, role) {
    case (.client(let pdu), .client): self = .send(pdu)
    case (.client(let pdu), .server): self = .expect(Transcript.Pattern(pdu))
    case (.server(let pattern), .client): self = .expect(pattern)
    case (.server(let pattern), .server):
      guard let pdu = pattern.bytes else { return nil }
      self = .send(pdu)
    case (.wait(let time), _): self = .wait(time)
    case (.silence(let time), _): self = .silence(time)
    case (.security(let security), _): self = .security(security)
    case (.disconnect, _): self = .disconnect
    default: return nil
    }
  }
}
