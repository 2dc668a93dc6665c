import TestSupport
import Foundation
import Testing

@testable import AttoFormats

/// Writes the page with the state of each case of the GATT test suite, from the list
/// `gatt-ts.cases` and from playing the transcripts.
///
///     ATTO_WRITE_CONFORMANCE_TABLE=1 swift test --filter ConformanceTableTests
@Suite(.sideBySide) struct ConformanceTableTests {
  private static let page = Fixtures.folder.deletingLastPathComponent()
    .appending(path: "Sources/Formats/Formats/Formats.docc/Conformance.md")

  private struct Case {
    let name: String
    /// The missing feature that it needs; nil if it applies.
    let needs: String?
    /// The transcripts with its name.
    var shown: [TranscriptPlayerTests.Played] = []
    var complaints: [String] = []

    var isPassed: Bool { !shown.isEmpty && complaints.isEmpty }
  }

  private static func cases() throws -> [Case] {
    let path = TranscriptPlayerTests.folder.appending(path: "gatt-ts.cases")
    let lines = try String(contentsOf: path, encoding: .utf8).split(separator: "\n")
    var cases = lines.filter { !$0.hasPrefix("##") }.map { line in
      let name = line.prefix { $0 != " " }
      let needs = line.dropFirst(name.count).drop { $0 == " " }
      return Case(name: String(name), needs: needs.isEmpty ? nil : String(needs))
    }
    let indices = Dictionary(
      uniqueKeysWithValues: cases.indices.map { (cases[$0].name, $0) })
    for played in TranscriptPlayerTests.cases where played.test.name.hasPrefix("GATT/") {
      let name = played.test.name.split(separator: "/").prefix(4).joined(separator: "/")
      let index = try #require(indices[name], "no case of the list: \(played.test.name)")
      let isServer = name.hasPrefix("GATT/SR/")
      #expect(isServer == (played.profile != nil), "\(played.test.name) has the wrong role")
      cases[index].shown.append(played)
      cases[index].complaints +=
        isServer ? try played.server() : TranscriptClientPlayer().play(played.test)
    }
    return cases
  }

  private static func text(_ cases: [Case]) -> String {
    let applicable = cases.filter { $0.needs == nil }
    let passed = applicable.count(where: \.isPassed)
    let beyond = cases.count { $0.needs != nil && $0.isPassed }
    var text = """
      # Conformance

      The state of each case of the GATT test suite.

      ## Overview

      Written by `Tests/Unit/FormatsTests/ConformanceTableTests.swift` from `gatt-ts.cases` and the
      transcripts in `Fixtures/transcripts`; the tests check that it is up to date. A case is passed if
      all transcripts with its name can be played.

      \(passed) of \(applicable.count) applicable cases passed, \(applicable.count - passed) open.
      \(cases.count - applicable.count) of \(cases.count) do not apply to LE without signed writes; \(beyond) of these
      are passed nevertheless.

      | Case | State | Transcripts |
      |---|---|---|

      """
    for test in cases {
      var files: [String] = []
      for played in test.shown where !files.contains(played.file) { files.append(played.file) }
      let state =
        test.needs.map { "not applicable: needs \($0)" + (test.isPassed ? "; passed" : "") }
        ?? (test.isPassed ? "passed" : "open")
      let shown = files.map { file in
        let count = test.shown.count { $0.file == file }
        return "`\(file)`" + (count > 1 ? " (\(count))" : "")
      }
      text += "| \(test.name) | \(state) | \(shown.joined(separator: ", ")) |\n"
    }
    return text
  }

  @Test func tableIsUpToDate() throws {
    let cases = try Self.cases()
    #expect(cases.count == 195)
    #expect(cases.count { $0.needs == nil } == 168)
    for test in cases { #expect(test.complaints == [], "\(test.name)") }
    let text = Self.text(cases)
    if ProcessInfo.processInfo.environment["ATTO_WRITE_CONFORMANCE_TABLE"] != nil {
      try text.write(to: Self.page, atomically: true, encoding: .utf8)
    }
    let written = try? String(contentsOf: Self.page, encoding: .utf8)
    #expect(
      written == text,
      """
      Conformance.md is out of date; write it again with
      ATTO_WRITE_CONFORMANCE_TABLE=1 swift test --filter ConformanceTableTests
      """)
  }

  @Test func databasesAreTheOutputOfTheirScript() throws {
    let folder = FileManager.default.temporaryDirectory
      .appending(path: "atto-databases-\(getpid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let script = Process()
    script.executableURL = URL(filePath: "/usr/bin/env")
    script.arguments = [
      "python3", TranscriptPlayerTests.folder.appending(path: "generate-databases.py").path,
      folder.path,
    ]
    try script.run()
    script.waitUntilExit()
    #expect(script.terminationStatus == 0)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(names.count == 6)
    for name in names {
      let printed = try Data(contentsOf: folder.appending(path: name))
      let kept = try Data(contentsOf: TranscriptPlayerTests.folder.appending(path: name))
      #expect(printed == kept, "\(name) is not what generate-databases.py writes")
    }
  }
}
