import Atto

package protocol Command {
  static var description: CommandDescription { get }

  /// - Throws: any error; ``ExitStatus`` turns it into a message and a status.
  static func run(_ arguments: Arguments, on loop: Loop) async throws
}

/// The description of a subcommand: the source of its help and of the parser's option table.
package struct CommandDescription: Sendable {
  package let name: String
  /// An imperative phrase.
  package let summary: String
  /// The forms of the command line, without `atto` and the name.
  package let synopsis: [String]
  package let arguments: [ArgumentDescription]
  /// Paragraphs, separated by empty lines. A paragraph that is indented is printed as it is.
  package let details: String
  let options: [OptionGroup]
  /// The options that are not in a group.
  package let ownOptions: [any CommandOption]
  /// How long the command may run without `--max-time`.
  package let timeLimit: TimeLimit
  /// What becomes of results that nobody reads.
  package let delivery: Delivery
  /// Whether `atto session` carries it out as it is: without a terminal and standard input.
  package let runsInSession: Bool
  /// Command lines as they are typed.
  package let examples: [String]

  package init(
    _ name: String, _ summary: String, synopsis: [String],
    arguments: [ArgumentDescription] = [], details: String = "",
    options: [any CommandOption] = [], groups: [OptionGroup] = [],
    timeLimit: TimeLimit = .standard, delivery: Delivery = .complete, runsInSession: Bool = false,
    examples: [String]
  ) {
    self.name = name
    self.summary = summary
    self.synopsis = synopsis
    self.arguments = arguments
    self.details = details
    self.timeLimit = timeLimit
    self.runsInSession = runsInSession
    ownOptions = options
    let maxTime = CommonOptions.maxTimeOption(timeLimit)
    // Every command has it: among the common options, or else among its own.
    let isCommon = groups.first?.title == CommonOptions.title
    self.options =
      (options.isEmpty && isCommon
        ? [] : [OptionGroup("options", isCommon ? options : options + [maxTime])])
      + groups.enumerated().map { index, group in
        isCommon && index == 0 ? OptionGroup(group.title, group.options + [maxTime]) : group
      }
    self.delivery = delivery
    self.examples = examples
  }

  /// Whether the first argument is ENDPOINT.
  var namesEndpoint: Bool { arguments.first?.name == ArgumentDescription.endpoint.name }

  /// The greatest number of arguments; nil if there is no limit.
  var wordLimit: Int? {
    arguments.contains(where: \.isRepeatable) ? nil : arguments.count
  }

  /// The lines `usage: ...`.
  package var usage: String {
    synopsis.enumerated().map { index, form in
      (index == 0 ? "usage: " : "       ") + "atto \(name) \(form)"
    }.joined(separator: "\n")
  }
}

/// The description of an argument that is not an option.
package struct ArgumentDescription: Sendable {
  let name: String
  let summary: String
  var isRepeatable = false
  var kind = ValueKind.other

  package init(name: String, summary: String, isRepeatable: Bool = false, kind: ValueKind = .other)
  {
    (self.name, self.summary, self.isRepeatable, self.kind) = (name, summary, isRepeatable, kind)
  }

  package static let endpoint = ArgumentDescription(
    name: "ENDPOINT", summary: EndpointError.forms, kind: .peer)
  package static let handle = ArgumentDescription(
    name: "HANDLE", summary: handleForms, kind: .handle)
  package static let handles = ArgumentDescription(
    name: "HANDLE...", summary: handleForms, isRepeatable: true, kind: .handle)
  private static let handleForms =
    "A handle, hexadecimal after 0x, else decimal; or a UUID (2A19, uuid:2902) or an assigned name"
    + " (\"battery level\") that only one attribute has, perhaps of a service or characteristic"
    + " (2A19@180F, uuid:2902@2A37)."
  package static let range = ArgumentDescription(
    name: "RANGE",
    summary: "A range of handles, such as 0x0010-0x0017 or 16-23 (default: all handles).")
}
