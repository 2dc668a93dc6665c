import AttoATT

extension Transcript: CustomStringConvertible {
  /// The canonical text, which reads back as the same transcript: lowercase octets separated by
  /// spaces, a blank line between cases, no comments.
  public var description: String {
    var text = profile.map { "profile \($0)\n" } ?? ""
    for test in cases {
      if !text.isEmpty { text += "\n" }
      text += test.description
    }
    return text
  }
}

extension Transcript.Case: CustomStringConvertible {
  /// The heading, the profile if any, and a line for each step.
  public var description: String {
    var text = "# \(name)" + (title.isEmpty ? "" : "  \(title)") + "\n"
    if let profile { text += "profile \(profile)\n" }
    for step in steps { text += "\(step)\n" }
    return text
  }
}

extension Transcript.Step: CustomStringConvertible {
  /// The step as a line without a line break.
  public var description: String {
    let text = action.description
    switch action {
    // The arrow is the first character.
    case .client, .server:
      return bearer == 0 ? text : text.prefix(1) + "\(bearer)" + text.dropFirst()
    default: return text
    }
  }
}

extension Transcript.Action: CustomStringConvertible {
  /// The line of a step, on the unenhanced bearer.
  public var description: String {
    switch self {
    case .client(let pdu):
      pdu.isEmpty ? ">" : "> " + Hex.text(pdu, separator: " ")
    case .server(let pattern):
      pattern.octets.isEmpty && !pattern.isOpen ? "<" : "< \(pattern)"
    case .wait(let duration): "wait " + TranscriptDuration.text(duration)
    case .silence(let duration): "silence " + TranscriptDuration.text(duration)
    case .security(let security): "security " + security.words
    case .procedure(let words): "procedure " + words.joined(separator: " ")
    case .result(let words): "result " + words.joined(separator: " ")
    case .database(.add(let path)): "database add \(path)"
    case .database(.remove(let handle)): "database remove \(handle)"
    case .notify(let values):
      "notify " + values.map { "\($0)" }.joined(separator: " ")
    case .indicate(let value): "indicate \(value)"
    case .bond(let key): key.map { "bond " + Hex.text($0) } ?? "bond"
    case .turn(let client): "client \(client)"
    case .bearers(let count, let mtu):
      "bearers \(count)" + (mtu == Transcript.smallestBearerMTU ? "" : " \(mtu)")
    case .close(let bearer): "close \(bearer)"
    case .reconnect: "reconnect"
    case .disconnect: "disconnect"
    }
  }
}

extension Transcript.Value: CustomStringConvertible {
  /// `0x0012 0048`, with `-` for an empty value.
  public var description: String {
    "\(handle) " + (octets.isEmpty ? "-" : Hex.text(octets))
  }
}

extension Transcript.Pattern: CustomStringConvertible {
  /// `01 0a ?? ...`.
  public var description: String {
    let words = octets.map { $0.map { Hex.text([$0]) } ?? "??" }
    return (words + (isOpen ? ["..."] : [])).joined(separator: " ")
  }
}

extension LinkSecurity {
  /// The level, with the key size unless it is the largest.
  fileprivate var words: String {
    self == LinkSecurity(level) ? "\(level)" : "\(level) \(keySize)"
  }
}
