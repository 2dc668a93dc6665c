/// How long a command may run without `--max-time`.
package struct TimeLimit: Sendable {
  /// The default, as help shows it.
  let text: String
  /// Whether the command runs until it is told to end, so that `--max-time` is a normal end.
  package var isOpen = false
  /// The options that end such a command.
  var ends: [any CommandOption] = []
  /// nil: without limit.
  let limit: @Sendable (Arguments) throws -> Duration?

  package init(
    text: String, isOpen: Bool = false, ends: [any CommandOption] = [],
    limit: @escaping @Sendable (Arguments) throws -> Duration?
  ) {
    (self.text, self.isOpen, self.ends, self.limit) = (text, isOpen, ends, limit)
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
  /// For commands that end by themselves, after a time that their input determines.
  package static let unlimited = TimeLimit(text: "none") { _ in nil }

  /// The limit of a command in a session, which can be cancelled there.
  package var inSession: TimeLimit {
    TimeLimit(text: "none", isOpen: isOpen, ends: ends) { _ in nil }
  }

  /// Whether only an interruption ends the command.
  package func isEndless(_ arguments: Arguments) -> Bool {
    isOpen && !ends.contains { arguments.has($0) }
  }
}
