/// The description of an option, from which help is printed.
package struct OptionDescription: Sendable {
  package let name: String
  /// A letter that may be given for it, where another tool's users expect one.
  package var short: String?
  /// A name that it had in an earlier version, and that is accepted with a note.
  var formerName: String?
  /// The placeholder of the value in help; nil for a flag.
  let argument: String?
  /// A sentence. Help appends the allowed values and the default.
  package let summary: String
  /// The value that applies without the option, as help shows it.
  var defaultValue: String?
  /// All values, where they can be listed.
  package var allowedValues: [String] = []
  /// For completion, where the values cannot be listed.
  var kind = ValueKind.other
  var isRepeatable = false

  init(name: String, argument: String?, summary: String) {
    (self.name, self.argument, self.summary) = (name, argument, summary)
  }

  /// `--name`, or `-n, --name`.
  var spelling: String { (short.map { "-\($0), " } ?? "") + "--\(name)" }
}

/// An option of any type, for lists of options.
package protocol CommandOption: Sendable {
  var description: OptionDescription { get }
  /// Reads the values given on the command line, in order; at least one.
  func read(_ texts: [String]) throws(UsageError) -> any Sendable
}

/// An option, its description and the type of its value. ``Arguments`` gives the value.
package struct Option<Value: Sendable>: CommandOption {
  package var description: OptionDescription
  /// The value without the option.
  let absent: Value
  private let parse: @Sendable ([String], String) throws(UsageError) -> Value

  private init(
    _ description: OptionDescription, absent: Value,
    parse: @escaping @Sendable ([String], String) throws(UsageError) -> Value
  ) {
    self.description = description
    self.absent = absent
    self.parse = parse
  }

  /// The same option, which an earlier version called by another name.
  package func formerly(_ name: String) -> Option {
    var option = self
    option.description.formerName = name
    return option
  }

  package func read(_ texts: [String]) throws(UsageError) -> any Sendable {
    do throws(UsageError) {
      return try parse(texts, description.name)
    } catch {
      throw UsageError(error.message, hint: error.hint ?? suggestion(for: texts))
    }
  }

  private func suggestion(for texts: [String]) -> String? {
    let allowed = description.allowedValues
    let words = texts.flatMap { $0.split(separator: ",") }.map(String.init)
    guard let word = words.first(where: { !allowed.contains($0) }) else { return nil }
    return Suggestion.hint(for: word, among: allowed)
  }
}

// MARK: The kinds of options. The last value of a repeated option applies.

extension Option where Value == Bool {
  package static func flag(_ name: String, _ summary: String) -> Option {
    Option(OptionDescription(name: name, argument: nil, summary: summary), absent: false) { _, _ in
      true
    }
  }
}

extension Option {
  /// An option with a default.
  ///
  /// - Parameters:
  ///   - shown: the default in help, if not its description.
  ///   - expected: the valid values, for the error message.
  ///   - read: nil for an invalid value.
  package static func value(
    _ name: String, _ argument: String, _ summary: String, default absent: Value,
    shown: String? = nil, expected: String, read: @escaping @Sendable (String) -> Value?
  ) -> Option {
    var description = OptionDescription(name: name, argument: argument, summary: summary)
    description.defaultValue = shown ?? "\(absent)"
    return Option(description, absent: absent) { texts, name throws(UsageError) in
      try Self.last(texts, name, expected, read)
    }
  }

  /// An option without a default.
  package static func value<Found: Sendable>(
    _ name: String, _ argument: String, _ summary: String, expected: String,
    read: @escaping @Sendable (String) -> Found?
  ) -> Option where Value == Found? {
    Option(OptionDescription(name: name, argument: argument, summary: summary), absent: nil) {
      texts, name throws(UsageError) in
      try Self.last(texts, name, expected, read)
    }
  }

  /// An option that may be repeated.
  ///
  /// - Parameters:
  ///   - shown: the default in help.
  ///   - words: all values, where they can be listed.
  package static func list<Found: Sendable>(
    _ name: String, _ argument: String, _ summary: String, shown: String? = nil,
    among words: [String] = [], expected: String, read: @escaping @Sendable (String) -> Found?
  ) -> Option where Value == [Found] {
    var description = OptionDescription(name: name, argument: argument, summary: summary)
    description.defaultValue = shown
    description.allowedValues = words
    description.isRepeatable = true
    return Option(description, absent: []) { texts, name throws(UsageError) in
      var values: [Found] = []
      for text in texts {
        guard let value = read(text) else { throw UsageError(text, for: name, expected: expected) }
        values.append(value)
      }
      return values
    }
  }

  private static func last<Found>(
    _ texts: [String], _ name: String, _ expected: String, _ read: (String) -> Found?
  ) throws(UsageError) -> Found {
    let text = texts.last ?? ""
    guard let value = read(text) else { throw UsageError(text, for: name, expected: expected) }
    return value
  }
}

extension UsageError {
  package init(_ text: String, for option: String, expected: String) {
    self.init("invalid value \"\(text)\" for --\(option): expected \(expected)")
  }
}

/// Options under a heading of their own in help.
package struct OptionGroup: Sendable {
  let title: String
  package let options: [any CommandOption]

  package init(_ title: String, _ options: [any CommandOption]) {
    self.title = title
    self.options = options
  }
}
