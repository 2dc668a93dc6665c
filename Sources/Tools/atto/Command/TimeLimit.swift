/// How long a command may run without `--max-time`.
struct TimeLimit: Sendable {
  /// The default, as help shows it.
  let text: String
  /// Whether the command runs until it is told to end, so that `--max-time` is a normal end.
  var isOpen = false
  /// nil: without limit.
  let limit: @Sendable (Arguments) throws -> Duration?

  /// For commands that end by themselves. Options that ask for more time get it.
  static let standard = TimeLimit(text: "300, and the seconds of other options") {
    .seconds(300) + $0.seconds
  }
  /// For commands that run until they are interrupted.
  static let open = TimeLimit(text: "none", isOpen: true) { _ in nil }
  /// For commands that end by themselves, after a time that their input determines.
  static let unlimited = TimeLimit(text: "none") { _ in nil }
}
