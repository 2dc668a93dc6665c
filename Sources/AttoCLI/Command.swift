import Atto

/// One subcommand.
protocol Command {
  static var name: String { get }
  /// One line for the list of commands.
  static var summary: String { get }
  /// What follows the name.
  static var usage: String { get }
  static var options: [OptionSpec] { get }
  /// Command lines that a person can begin with, as they are typed.
  static var examples: [String] { get }
  /// What else there is to know.
  static var notes: String { get }

  /// Does it.
  ///
  /// - Throws: `UsageError`, `AttoError`, `ProfileError`, `CheckFailure`.
  static func run(_ arguments: Arguments, on loop: Loop) async throws
}

extension Command {
  static var notes: String { "" }

  static var help: String {
    var text = "usage: atto \(name) \(usage)\n\n\(summary)\n"
    if !notes.isEmpty { text += "\n\(notes)\n" }
    if !options.isEmpty {
      text += "\noptions:\n"
      for option in options {
        let left = "  --\(option.name)" + (option.argument.map { " \($0)" } ?? "")
        let pad = String(repeating: " ", count: max(2, 26 - left.count))
        text += left + pad + option.help + "\n"
      }
    }
    text += "\n" + (examples.count == 1 ? "example:\n" : "examples:\n")
    for example in examples { text += "  \(example)\n" }
    if usage.contains("ENDPOINT") { text += "\nENDPOINT is \(EndpointError.forms).\n" }
    return text.hasSuffix("\n") ? String(text.dropLast()) : text
  }
}

/// A peer to which no link could be opened, so that nothing was checked: exit status 3.
struct Unreachable: Error {
  let message: String
}

/// A check that fell short: exit status 4.
struct CheckFailure: Error {
  let message: String
}
