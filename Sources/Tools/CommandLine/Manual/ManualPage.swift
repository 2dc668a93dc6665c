import Atto
import AttoText

/// A manual page in section 1, made from the descriptions that help is printed from.
package struct ManualPage {
  /// Such as `atto-read`.
  package let name: String
  private let body: String

  package var file: String { "\(name).1" }

  package var text: String {
    ".TH \(name.uppercased()) 1 \(Version.date) \"atto \(Version.number)\" \"User Commands\"\n\(body)"
  }

  /// The page of a subcommand.
  package init(of command: CommandDescription) {
    name = "atto-\(command.name)"
    var roff = Roff()
    roff.section("Name")
    roff.text("\(name) - \(command.summary.dropLast())", keepsFirstDash: true)
    roff.section("Synopsis")
    for (index, form) in command.synopsis.enumerated() {
      if index > 0 { roff.line(".br") }
      roff.words(["atto", command.name], then: form)
    }
    roff.section("Description")
    for (index, paragraph) in command.details.pieces(between: "\n\n").enumerated() {
      if index > 0, !paragraph.hasPrefix(" ") { roff.line(".PP") }
      roff.paragraph(String(paragraph))
    }
    if command.details.isEmpty { roff.text(command.summary) }
    if !command.arguments.isEmpty {
      roff.section("Arguments")
      for argument in command.arguments { roff.entry("", argument.name, argument.summary) }
    }
    roff.section("Options")
    for group in command.options {
      if group.title != "options" { roff.subsection(group.title) }
      for option in group.options.map(\.description) {
        roff.entry(option.spelling, option.argument ?? "", option.wholeSummary)
      }
    }
    roff.end(examples: command.examples)
    roff.section("See also")
    roff.line(".BR atto (1)")
    body = roff.body
  }

  /// The page of the command as a whole.
  package init(of groups: [(title: String, commands: [CommandDescription])]) {
    name = "atto"
    var roff = Roff()
    roff.section("Name")
    roff.text("atto - ATT and GATT on Linux", keepsFirstDash: true)
    roff.section("Synopsis")
    roff.words(["atto"], then: "COMMAND [ENDPOINT] [OPTIONS]")
    roff.section("Description")
    roff.text(
      "atto reads, writes, serves, tests and measures GATT databases over L2CAP sockets of the kernel, "
        + "Unix sockets, and simulated radios. It needs no daemon. Each command has a page of its own."
    )
    roff.section("Commands")
    for group in groups {
      roff.subsection(group.title)
      for command in group.commands {
        roff.line(".TP\n.BR \(Roff.escaped("atto-\(command.name)")) (1)")
        roff.text(command.summary)
      }
    }
    roff.section("Endpoints")
    for (form, meaning) in Glossary.endpoints { roff.entry(form, "", "\(meaning).") }
    roff.section("Environment")
    for (variable, meaning) in Self.environment { roff.entry(variable, "", meaning) }
    roff.end(examples: [
      "atto serve Fixtures/heart-rate.json --listen air:Strap", "atto discover air:Strap",
      "atto help read",
    ])
    body = roff.body
  }

  private static let environment = [
    (
      "ATTO_AIR",
      "The folder of the virtual air (default: $XDG_RUNTIME_DIR/atto-air, else /tmp/atto-air-UID)."
    ),
    (
      "ATTO_STORE",
      "The file of bonds and databases (default: /var/lib/atto/store.sqlite for root,"
        + " $XDG_STATE_HOME/atto/store.sqlite for others)."
    ),
    ("NO_COLOR", "If it is set and not empty, there is no colour on a terminal."),
  ]
}

extension Roff {
  fileprivate mutating func end(examples: [String]) {
    section("Exit status")
    for (code, meaning) in Glossary.statuses.enumerated() { entry("\(code)", "", "\(meaning).") }
    section("Examples")
    verbatim(examples.joined(separator: "\n"))
  }
}
