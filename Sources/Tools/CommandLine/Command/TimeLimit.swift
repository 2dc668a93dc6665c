/// How long a command may run without `--max-time`.
package struct TimeLimit: Sendable {
  /// The default, as help shows it.
  let text: String
  /// Whether the command runs until it is told to end, so that `--max-time` is a normal end.
  private var isOpen = false
  /// The option without which such a command ends by itself; nil: there is none.
  private var opener: (any CommandOption)?
  /// The options that end such a command.
  private var ends: [any CommandOption] = []
  /// nil: without limit.
  let limit: @Sendable (Arguments) throws -> Duration?

  package init(text: String, limit: @escaping @Sendable (Arguments) throws -> Duration?) {
    (self.text, self.limit) = (text, limit)
  }

  private init(
    text: String, isOpen: Bool, opener: (any CommandOption)? = nil, ends: [any CommandOption],
    limit: @escaping @Sendable (Arguments) throws -> Duration?
  ) {
    (self.text, self.isOpen, self.opener, self.ends, self.limit) = (
      text, isOpen, opener, ends, limit
    )
  }

  /// For commands that end by themselves. Options that ask for more time get it.
  package static let standard = TimeLimit(text: "300, and the seconds of other options") {
    .seconds(300) + $0.seconds
  }
  /// For commands that run until they are interrupted.
  package static let open = open(unless: [])
  /// The same, where some options end the command.
  package static func open(unless ends: [any CommandOption]) -> TimeLimit {
    TimeLimit(text: "none", isOpen: true, ends: ends) { _ in nil }
  }
  /// For commands that run until they are interrupted if they are given an option.
  package static func open(
    by opener: some CommandOption, unless ends: [any CommandOption]
  ) -> TimeLimit {
    TimeLimit(
      text: "\(standard.text); none with --\(opener.description.name)", isOpen: true,
      opener: opener, ends: ends
    ) { $0.has(opener) ? nil : try standard.limit($0) }
  }
  /// For commands that end by themselves, after a time that their input determines.
  package static let unlimited = TimeLimit(text: "none") { _ in nil }

  /// The limit of a command in a session, which can be cancelled there.
  package var inSession: TimeLimit {
    TimeLimit(text: "none", isOpen: isOpen, opener: opener, ends: ends) { _ in nil }
  }

  /// Whether `--max-time` is a normal end of the command, whatever its arguments are.
  var isAlwaysOpen: Bool { isOpen && opener == nil }

  /// Whether `--max-time` is a normal end of the command.
  package func isOpen(_ arguments: Arguments) -> Bool {
    isOpen && (opener.map { arguments.has($0) } ?? true)
  }

  /// Whether only an interruption ends the command.
  package func isEndless(_ arguments: Arguments) -> Bool {
    isOpen(arguments) && !ends.contains { arguments.has($0) }
  }
}
