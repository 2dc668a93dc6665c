import Atto
import AttoCommandLine

/// `atto man`: manual pages.
enum ManCommand: Command {
  private static let list = Option.flag("list", "Print the file names of all pages.")

  static let description = CommandDescription(
    "man", "Print the manual page of atto or of a command.",
    synopsis: ["[COMMAND]", "--list"],
    arguments: [
      ArgumentDescription(
        name: "COMMAND", summary: "A command, or the file name of its page.", kind: .command)
    ],
    details: """
      The page is in roff, for man and mandoc. To install all pages:

        for page in $(atto man --list); do
          atto man $page > /usr/local/share/man/man1/$page
        done
      """,
    options: [list],
    examples: ["atto man read | man -l -", "atto man > atto.1"])

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let commands = AllCommands.descriptions
    let groups = AllCommands.groups.map { ($0.title, $0.types.map { $0.description }) }
    let pages = [ManualPage(of: groups)] + commands.map { ManualPage(of: $0) }
    if arguments[list] {
      try arguments.allow(words: 0)
      for page in pages { Terminal.print(page.file) }
      return
    }
    let word = arguments.words.first ?? pages[0].file
    guard
      let page = pages.first(where: { [$0.file, $0.name].contains(word) })
        ?? pages.first(where: { $0.name == "atto-\(word)" })
    else {
      throw UsageError(
        "no page for \"\(word)\"", hint: Suggestion.hint(for: word, among: commands.map(\.name)))
    }
    Terminal.print(ownText: page.text)
  }
}
