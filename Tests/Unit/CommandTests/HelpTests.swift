import TestSupport
import Testing

@testable import AttoCLI
@testable import AttoCommandLine

/// The description of each command, and the help printed from it.
@Suite(.oneByOne) struct HelpTests {
  @Test(arguments: AllCommands.descriptions)
  func description(_ command: CommandDescription) {
    #expect(command.summary.hasSuffix(".") && command.summary.first?.isUppercase == true)
    #expect(!command.synopsis.isEmpty && !command.examples.isEmpty)
    for option in command.options.flatMap(\.options).map(\.description) {
      #expect(option.summary.hasSuffix("."))
    }
    let names = command.options.flatMap(\.options).map(\.description.name)
    #expect(Set(names).count == names.count, "an option is listed twice")
    for line in command.help.split(separator: "\n") { #expect(line.count <= 80) }
  }

  @Test func options() {
    let count = Option.integer("count", "N", in: 1...9, default: 3, "The number.")
    let level = Option.choice("level", "LEVEL", [("low", 1), ("high", 2)], "The level.")
    let names = Option.texts("name", "NAME", "A name.")
    let command = CommandDescription(
      "test", "Test.", synopsis: ["[OPTIONS]"], details: "One.\n\nTwo\nlines.\n\n  as it\n  is",
      options: [count, level, names], examples: ["atto test"])
    #expect(
      command.help == """
        usage: atto test [OPTIONS]

        Test.

        One.

        Two lines.

          as it
          is

        options:
          --count N               The number (default: 3).
          --level LEVEL           The level: low or high (default: low).
          --name NAME             A name; may be repeated.
          --max-time SECONDS      End after this time, whatever is in progress: status 3
                                  (default: 300, and the seconds of other options).

        example:
          atto test
        """)
  }
}

/// A case is named after its command. Its whole description is thousands of characters.
extension CommandDescription: CustomTestStringConvertible {
  public var testDescription: String { name }
}
