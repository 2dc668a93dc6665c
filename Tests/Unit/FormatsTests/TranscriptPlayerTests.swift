import TestSupport
import Foundation
import Testing

@testable import AttoFormats

/// The conformance cases of `Fixtures/transcripts`, against our server and our client.
@Suite(.sideBySide) struct TranscriptPlayerTests {
  struct Played: Sendable, CustomTestStringConvertible {
    let file: String
    let test: Transcript.Case
    let profile: String?
    var testDescription: String { "\(file): \(test.name)" }

    /// Plays it against our server and returns the differences.
    func server() throws -> [String] {
      func read(_ path: String) throws -> Profile {
        try Profile(contentsOfFile: folder.appending(path: path).path)
      }
      return try TranscriptServerPlayer(read(profile ?? ""), read: read).play(test)
    }
    var isForClient: Bool { profile == nil }
  }

  static let folder = Fixtures.folder.appending(path: "transcripts")

  static let files: [String] =
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
    .filter { $0.hasSuffix(".att") }.sorted()

  /// Every case of every file; one that cannot be read is reported by `filesCanBeRead`.
  static let cases: [Played] = files.flatMap { file -> [Played] in
    guard let transcript = try? Transcript(contentsOfFile: folder.appending(path: file).path)
    else { return [] }
    return transcript.cases.map {
      Played(file: file, test: $0, profile: transcript.profile(of: $0))
    }
  }

  @Test(arguments: files) func filesCanBeRead(_ file: String) throws {
    let transcript = try Transcript(contentsOfFile: Self.folder.appending(path: file).path)
    #expect(!transcript.cases.isEmpty)
  }

  @Test(arguments: cases.filter { $0.profile != nil }) func server(_ played: Played) throws {
    #expect(try played.server() == [])
  }

  @Test(arguments: cases.filter(\.isForClient)) func client(_ played: Played) {
    #expect(TranscriptClientPlayer().play(played.test) == [])
  }

  @Test func caseNamesAreUnique() {
    #expect(Set(Self.cases.map(\.test.name)).count == Self.cases.count)
    #expect(Self.cases.count { $0.profile != nil } > 220)
    #expect(Self.cases.count(where: \.isForClient) > 180)
  }

  // MARK: Differences are reported

  private func complaints(_ text: String, client: Bool) throws -> [String] {
    let transcript = try Transcript(text: Array(text.utf8))
    let player =
      client
      ? TranscriptClientPlayer()
      : try TranscriptServerPlayer(Profile(services: [])) { _ in Profile(services: []) }
    return player.play(transcript.cases[0])
  }

  @Test func serverPlayerReportsDifferences() throws {
    #expect(
      try complaints("# A\n> 0a 03 00\n< 0b 09", client: false)
        == ["line 3: 0b 41 74 74 6f came, not 0b 09"])
    #expect(
      try complaints("# A\n> 52 03 00\n< 0b", client: false) == ["line 3: nothing came, not 0b"])
    #expect(
      try complaints("# A\n> 0a 05 00", client: false) == ["line 2: 0b 00 00 came at the end"])
    #expect(
      try complaints("# A\n> 0a 05 00\nsilence 1s", client: false)
        == ["line 3: 0b 00 00 came in silence"])
    #expect(
      try complaints("# A\n> 0a 05 00\n> 0a 05 00\n< ...", client: false)
        == ["line 3: 0b 00 00 came before the client's PDU"])
  }

  @Test func clientPlayerReportsDifferences() throws {
    #expect(
      try complaints("# A\nprocedure read 0x0003\n> 0a 04 00\n< 0b\nresult value", client: true)
        == ["line 3: 0a 03 00 came, not 0a 04 00"])
    #expect(
      try complaints("# A\nprocedure read 0x0003\n> 0a 03 00\n< 0b 01\nresult value", client: true)
        == ["line 5: the result is value 01, not value"])
    #expect(
      try complaints("# A\nprocedure read 0x0003\n> 0a 03 00\n< 0b 01", client: true)
        == ["line 4: the result value 01 is not in the transcript"])
    #expect(
      try complaints("# A\nprocedure raed 0x0003", client: true)
        == ["line 2: no such procedure: [\"raed\", \"0x0003\"]"])
    #expect(
      try complaints("# A\nprocedure read 0x0003\n> 0a 03 00\n< ??\nresult value", client: true)
        .contains("line 4: ?? is not one PDU"))
    #expect(
      try complaints("# A\nprocedure read 0x0003\n> 0a 03 00\nresult value", client: true)
        == ["line 4: no result, not value"])
  }
}
