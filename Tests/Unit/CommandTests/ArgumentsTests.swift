import TestSupport
import Testing

@testable import AttoCommandLine

@Suite(.oneByOne) struct ArgumentsTests {
  static let count = Option.integer("count", "N", in: 1...9, "The number.")
  static let quiet = Option.flag("quiet", "No output.")
  static let quick = Option.flag("quick", "Be quick.")
  static let names = Option.texts("name", "NAME", "A name.")
  static let command = CommandDescription(
    "test", "Test.", synopsis: ["[OPTIONS] [WORD]"],
    arguments: [ArgumentDescription(name: "WORD", summary: "A word.")],
    options: [count, quiet, quick, names], examples: [])

  private func parse(_ text: String) throws -> Arguments {
    try Arguments(text.split(separator: " ").map(String.init), of: Self.command)
  }

  @Test func values() throws {
    let arguments = try parse("--name a word --count=7 --name b --quiet")
    #expect(arguments.words == ["word"])
    #expect(arguments[Self.count] == 7)
    #expect(arguments[Self.names] == ["a", "b"])
    #expect(arguments[Self.quiet] && !arguments[Self.quick])
  }

  @Test func absent() throws {
    let arguments = try parse("")
    #expect(arguments[Self.count] == nil && arguments[Self.names] == [] && !arguments[Self.quiet])
  }

  @Test func lastValueApplies() throws {
    #expect(try parse("--count 1 --count 2")[Self.count] == 2)
  }

  @Test func abbreviationsAndTheEndOfOptions() throws {
    #expect(try parse("--co 3")[Self.count] == 3)
    #expect(try parse("-- --count").words == ["--count"])
    #expect(try parse("-").words == ["-"])
  }

  @Test(arguments: [
    ("--count", "--count requires a value"), ("--quiet=1", "--quiet does not take a value"),
    ("--none", "unknown option --none"), ("-x", "unknown option -x"),
    ("--qui", "ambiguous option --qui: --quiet or --quick"),
    ("--count 10", "invalid value \"10\" for --count: expected a number from 1 to 9"),
    ("a b", "unexpected argument \"b\""),
  ]) func mistakes(_ line: String, _ message: String) {
    let error = #expect(throws: UsageError.self) { try parse(line) }
    #expect(error?.message == message)
  }
}
