import AttoText

/// Completes a command line, from the descriptions that help is printed from.
///
/// The scripts of ``CompletionScript`` ask for it with `atto __complete WORD...`: the words up to the
/// cursor, of which the last is to be completed. The answer is a line with `files` or `words`, and for
/// words one candidate per line, with a tab before its description.
package struct CompletionRequest {
  package static let name = "__complete"

  let commands: [CommandDescription]
  /// The handles that are known, in a session.
  var handles: [String] = []

  package init(commands: [CommandDescription], handles: [String] = []) {
    (self.commands, self.handles) = (commands, handles)
  }

  package enum Answer: Equatable {
    /// The shell completes the name of a file.
    case files
    case words([Candidate])
  }

  package struct Candidate: Equatable {
    package let text: String
    var summary = ""
  }

  /// The answer as text. Candidates that a terminal would not show as they are, are left out.
  package func text(for words: [String]) -> String {
    guard case .words(let candidates) = answer(to: words) else { return "files\n" }
    let lines = candidates.lazy.filter { $0.text.printable == $0.text }.prefix(Self.limit).map {
      $0.summary.isEmpty ? $0.text : $0.text + "\t" + $0.summary.firstSentence.printable
    }
    return (["words"] + lines).joined(separator: "\n") + "\n"
  }

  /// The most candidates.
  private static let limit = 1000

  package func answer(to words: [String]) -> Answer {
    let current = words.last ?? ""
    guard words.count > 1 else {
      return .words(Self.matching(current, candidates(.command, current) + Self.globalOptions))
    }
    if words[0] == "help" {
      return values(words.count == 2 ? .command : .other, [], current)
    }
    guard let command = commands.first(where: { $0.name == words[0] }) else { return .words([]) }
    let options = command.options.flatMap(\.options).map(\.description)
    let before = Before(words.dropFirst().dropLast(), options)
    if let option = before.awaiting { return values(option.kind, option.allowedValues, current) }
    if current.hasPrefix("-"), !before.isEnded {
      guard let equals = current.firstIndex(of: "=") else {
        return .words(Self.matching(current, before.missing(of: options)))
      }
      guard let option = Before.option(current[..<equals], options) else { return .words([]) }
      return values(option.kind, option.allowedValues, current, after: current.index(after: equals))
    }
    var arguments = command.arguments
    // The place takes the role of the peer.
    if before.listens, arguments.count > 1 { arguments.removeFirst() }
    let last = arguments.firstIndex(where: \.isRepeatable) ?? .max
    let index = min(before.position, last)
    guard index < arguments.count else {
      return .words(current.isEmpty && !before.isEnded ? before.missing(of: options) : [])
    }
    return values(arguments[index].kind, [], current)
  }

  private static let globalOptions = [
    Candidate(text: "--help", summary: "Print the commands."),
    Candidate(text: "--version", summary: "Print the version."),
  ]

  private static func matching(_ prefix: String, _ candidates: [Candidate]) -> [Candidate] {
    candidates.filter { $0.text.hasPrefix(prefix) && (!prefix.isEmpty || !$0.text.hasPrefix("--")) }
  }

  /// - Parameter start: where the value begins in the current word.
  private func values(
    _ kind: ValueKind, _ allowed: [String], _ current: String, after start: String.Index? = nil
  ) -> Answer {
    if case .file = kind { return .files }
    var start = start ?? current.startIndex
    // A list of words.
    if !allowed.isEmpty, let comma = current[start...].lastIndex(of: ",") {
      start = current.index(after: comma)
    }
    let (lead, value) = (String(current[..<start]), String(current[start...]))
    let found = allowed.isEmpty ? candidates(kind, value) : allowed.map { Candidate(text: $0) }
    return .words(
      found.filter { $0.text.hasPrefix(value) }.map {
        Candidate(text: lead + $0.text, summary: $0.summary)
      })
  }

  private func candidates(_ kind: ValueKind, _ value: String) -> [Candidate] {
    switch kind {
    case .other, .file: []
    case .words(let words): words().map { Candidate(text: $0) }
    case .handle: handles.map { Candidate(text: $0) }
    case .command:
      commands.map { Candidate(text: $0.name, summary: $0.summary) }
        + [Candidate(text: "help", summary: "Print the help of a command.")]
    case .peer: EndpointCandidates.peers(value)
    case .place: EndpointCandidates.places(value)
    case .radio: EndpointCandidates.radios
    case .adapter: EndpointCandidates.adapters.map { Candidate(text: $0) }
    }
  }
}

/// What the words before the current one say about it.
private struct Before {
  /// The number of arguments that are not options.
  private(set) var position = 0
  /// Whether `--` has ended the options.
  private(set) var isEnded = false
  /// The option whose value comes next.
  private(set) var awaiting: OptionDescription?
  /// Whether an option says where to listen.
  private(set) var listens = false
  private var given: Set<String> = []

  init(_ words: ArraySlice<String>, _ options: [OptionDescription]) {
    for word in words {
      if awaiting != nil {
        awaiting = nil
      } else if word == "--", !isEnded {
        isEnded = true
      } else if isEnded || !word.hasPrefix("-") || word == "-" {
        position += 1
      } else if let option = Self.option(word.prefix { $0 != "=" }, options) {
        given.insert(option.name)
        if case .place = option.kind { listens = true }
        if option.argument != nil, !word.contains("=") { awaiting = option }
      }
    }
  }

  /// The option that a word names, which may be abbreviated.
  static func option(
    _ word: some StringProtocol, _ options: [OptionDescription]
  ) -> OptionDescription? {
    if let short = options.first(where: { $0.short.map { "-" + $0 == word } ?? false }) {
      return short
    }
    let near = options.filter { "--\($0.name)".hasPrefix(word) && word.count > 2 }
    return near.first { $0.name.count == word.count - 2 } ?? (near.count == 1 ? near[0] : nil)
  }

  /// The options that may still be given.
  func missing(of options: [OptionDescription]) -> [CompletionRequest.Candidate] {
    options.filter { !given.contains($0.name) || $0.isRepeatable }.map {
      CompletionRequest.Candidate(text: "--\($0.name)", summary: $0.summary)
    } + [CompletionRequest.Candidate(text: "--help", summary: "Print the help of this command.")]
  }
}

extension String {
  /// Without its full stop.
  fileprivate var firstSentence: String {
    let sentence = pieces(between: ". ").first ?? ""
    return String(sentence.hasSuffix(".") ? sentence.dropLast() : sentence)
  }
}
