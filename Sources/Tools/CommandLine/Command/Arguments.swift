/// A parsed command line: words and typed option values.
package struct Arguments: Sendable {
  /// The arguments that are not options, in order.
  package private(set) var words: [String]
  /// ``words`` after ENDPOINT, which `atto session` leaves out.
  package private(set) var operands: ArraySlice<String>
  /// What becomes of the command's lines.
  let delivery: Delivery
  /// The session that carries the command out; nil for a command of its own.
  package var place: (any SessionPlace)?
  /// Warnings about options that have other names now.
  package let notes: [String]
  private let values: [String: any Sendable]

  /// Parses the words after the command's name. Options and other arguments may be mixed, options
  /// may be abbreviated, and `--` ends the options.
  package init(
    _ words: [String], of command: CommandDescription, in place: (any SessionPlace)? = nil
  ) throws(UsageError) {
    self.place = place
    delivery = command.delivery
    let options = command.options.flatMap(\.options)
    var (others, given): ([String], [String: [String]]) = ([], [:])
    var notes: [String] = []
    var rest = words[...]
    while let word = rest.popFirst() {
      if word == "--" {
        others += rest
        break
      }
      // No option begins with a digit, but negative numbers do.
      guard word.hasPrefix("-"), word != "-", word.dropFirst().first?.isNumber != true else {
        others.append(word)
        continue
      }
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let (option, isFormer) = try Self.option(String(parts[0]), of: options)
      if isFormer { notes.append("warning: \(parts[0]) is called --\(option.name) now") }
      if option.argument == nil {
        guard parts.count == 1 else { throw UsageError("--\(option.name) does not take a value") }
        given[option.name, default: []].append("")
      } else if let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() {
        given[option.name, default: []].append(value)
      } else {
        throw UsageError("--\(option.name) requires a value")
      }
    }
    var values: [String: any Sendable] = [:]
    for option in options {
      guard let texts = given[option.description.name] else { continue }
      values[option.description.name] = try option.read(texts)
    }
    if let limit = command.wordLimit, others.count > limit {
      throw UsageError("unexpected argument \"\(others[limit])\"")
    }
    self.words = others
    self.notes = notes
    operands = command.namesEndpoint ? others.dropFirst() : others[...]
    self.values = values
  }

  /// The option that a word names, and whether by its former name.
  private static func option(
    _ word: String, of options: [any CommandOption]
  ) throws(UsageError) -> (OptionDescription, isFormer: Bool) {
    let name = word.dropFirst(2)
    let short = options.map(\.description).first { $0.short.map { "-" + $0 } == word }
    if let short { return (short, false) }
    let near = options.map(\.description).filter {
      word.hasPrefix("--") && !name.isEmpty && $0.name.hasPrefix(name)
    }
    if let option = near.first(where: { $0.name == name }) { return (option, false) }
    let former = options.map(\.description).first { $0.formerName.map { "--" + $0 } == word }
    if let former { return (former, true) }
    guard let option = near.first else {
      let names = options.map(\.description.name)
      throw UsageError(
        "unknown option \(word)",
        hint: Suggestion.hint(for: word.drop { $0 == "-" }, among: names, prefix: "--"))
    }
    guard near.count == 1 else {
      throw UsageError("ambiguous option \(word): \(near.map { "--\($0.name)" }.alternatives)")
    }
    return (option, false)
  }

  /// The value of an option, or its default.
  package subscript<Value>(option: Option<Value>) -> Value {
    values[option.description.name] as? Value ?? option.absent
  }

  /// The sum of the times that were given.
  package var seconds: Duration {
    values.values.reduce(.zero) { $0 + ($1 as? Duration ?? .zero) }
  }

  package func has(_ option: some CommandOption) -> Bool { values[option.description.name] != nil }

  package func word(_ index: Int, _ name: String) throws(UsageError) -> String {
    guard index < words.count else { throw UsageError("missing argument \(name)") }
    return words[index]
  }

  package func operand(_ index: Int, _ name: String) throws(UsageError) -> String {
    guard index < operands.count else { throw UsageError("missing argument \(name)") }
    return operands[operands.startIndex + index]
  }

  /// The same with the operand `-` replaced by a text.
  func replacingInput(with text: String) -> Arguments {
    var replaced = self
    replaced.operands = ArraySlice(operands.map { $0 == "-" ? text : $0 })
    return replaced
  }

  /// The same with an endpoint in front.
  package func naming(_ endpoint: String) -> Arguments {
    var named = self
    named.words.insert(endpoint, at: 0)
    return named
  }

  /// For commands where the number of arguments depends on the options.
  package func allow(words limit: Int) throws(UsageError) {
    guard words.count <= limit else {
      throw UsageError("unexpected argument \"\(words[limit])\"")
    }
  }

  /// Rejects options that cannot be used together with something else.
  package func forbid(_ options: [any CommandOption], _ reason: String) throws(UsageError) {
    for option in options where has(option) {
      throw UsageError("--\(option.description.name) \(reason)")
    }
  }
}
