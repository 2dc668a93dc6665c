import TestSupport
import AttoATT
import AttoConformance
import AttoFormats
import Foundation
import Testing

/// Transcripts against peers that a test does not have in its hands.
@Suite(.sideBySide) struct PlayTests {
  static let folder = Fixtures.folder.appending(path: "transcripts")
  static let files = ["configuration", "discovery", "read", "write", "errors", "databases"]

  @Test(arguments: files) func transcriptsPlayAgainstOurServer(_ name: String) async throws {
    let transcript = try Transcript(
      contentsOfFile: Self.folder.appending(path: name + ".att").path)
    let play = TranscriptPlay(role: .server)
    for test in transcript.cases {
      #expect(play.applies(test, in: transcript))
      let profile = try Fixtures.profile("transcripts/" + (transcript.profile(of: test) ?? ""))
      // What behaves needs an application, which this server does not have.
      guard !test.name.hasPrefix("ATT/ERROR"), !test.name.contains("GAR/BI-34") else { continue }
      let report = try await play.play(test, with: VirtualServer(profile))
      #expect(!report.isBroken, "\(report)")
    }
  }

  @Test func enhancedBearersArePlayed() async throws {
    let transcript = try Transcript(
      contentsOfFile: Self.folder.appending(path: "bearers.att").path)
    let profile = try Fixtures.profile("transcripts/bench.json")
    for test in transcript.cases {
      let peer = try VirtualServer(profile)
      peer.bearerLimit = 5
      let report = try await TranscriptPlay(role: .server).play(test, with: peer)
      #expect(report.word == (test.name.hasSuffix("BI-38-C") ? "skipped" : "passed"), "\(report)")
      peer.bearerLimit = 0
      let without = try await TranscriptPlay(role: .server).play(test, with: peer)
      #expect(without.word == "skipped", "\(without)")
    }
  }

  @Test func theBearerOfADifferenceIsTold() async throws {
    let text = "profile p\n# A\nbearers 2\n>2 0a 03 00\n<1 0b 78\n"
    let transcript = try Transcript(text: Array(text.utf8))
    let peer = try VirtualServer(Profile(name: "x"))
    peer.bearerLimit = 2
    let play = TranscriptPlay(role: .server)
    let report = try await play.play(transcript.cases[0], with: peer)
    #expect(report.isBroken)
    #expect(report.exchange == [ExchangedPDU(isFromPeer: false, [0x0A, 3, 0], bearer: 2)])
    peer.bearerLimit = 1
    let fewer = try await play.play(transcript.cases[0], with: peer)
    #expect(fewer.outcome == .skipped("the peer accepts 1 of 2 enhanced bearers"))
    let silent = "profile p\n# A\nbearers 1\n>1 0a 03 00\nsilence 1s\n"
    let silence = try Transcript(text: Array(silent.utf8))
    #expect(try await play.play(silence.cases[0], with: peer).isBroken)
  }

  @Test func clientsChooseTheirBearers() async throws {
    let text = "# A\nbearers 1\nprocedure read 0x0003\n>1 0a 03 00\n"
    let transcript = try Transcript(text: Array(text.utf8))
    let report = try await TranscriptPlay(role: .client).play(
      transcript.cases[0], with: VirtualClients { _ in })
    #expect(report.word == "skipped")
  }

  @Test func theFirstDifferenceIsTold() async throws {
    let text = "profile p\n# A  first\n> 0a 03 00\n< 0b 09\n> 0a 05 00\n< ...\n"
    let transcript = try Transcript(text: Array(text.utf8))
    let peer = try VirtualServer(Profile(name: "x"))
    let report = try await TranscriptPlay(role: .server).play(transcript.cases[0], with: peer)
    #expect(
      report.outcome
        == .broken(
          Finding(
            "The transcript's line", "received another PDU: Read Response 78", line: 4,
            expected: "0b 09  Read Response 09", got: [0x0B, 0x78])))
    #expect(
      report.exchange == [
        ExchangedPDU(isFromPeer: false, [0x0A, 3, 0]),
        ExchangedPDU(isFromPeer: true, [0x0B, 0x78]),
      ])
  }

  @Test func silenceIsPlayed() async throws {
    let text = "profile p\n# A\nsilence 31s\n> 0a 03 00\nsilence 1s\n"
    let transcript = try Transcript(text: Array(text.utf8))
    let peer = try VirtualServer(Profile(name: "x"))
    var play = TranscriptPlay(role: .server)
    let report = try await play.play(transcript.cases[0], with: peer)
    guard case .broken(let finding) = report.outcome else {
      Issue.record("\(report)")
      return
    }
    #expect(finding.line == 5)
    play.longestWait = .seconds(1)
    let left = try await play.play(transcript.cases[0], with: peer)
    #expect(left.word == "skipped")
  }

  @Test(arguments: ["database remove 0x0006", "bond", "security high", "notify 0x0003 00"])
  func whatNeedsThePeersHandIsLeftOut(_ line: String) async throws {
    let transcript = try Transcript(text: Array("profile p\n# A\n\(line)\n".utf8))
    let peer = try VirtualServer(Profile(name: "x"))
    let report = try await TranscriptPlay(role: .server).play(transcript.cases[0], with: peer)
    #expect(report.word == "skipped")
    #expect(peer.opened == 0)
  }

  @Test func clientsArePlayedToo() async throws {
    let text = "# A\nprocedure read 0x0003\n> 0a 03 00\n< 0b 09\n# B\n> 0a 04 00\n"
    let transcript = try Transcript(text: Array(text.utf8))
    var play = TranscriptPlay(role: .client)
    var prompts: [[String]] = []
    play.prompt = { prompts.append($0) }
    let peer = VirtualClients { $0.say([[0x0A, 3, 0]]) }
    let first = try await play.play(transcript.cases[0], with: peer)
    #expect(first.outcome == .passed)
    #expect(prompts == [["read", "0x0003"]])
    #expect(try await play.play(transcript.cases[1], with: peer).isBroken)
  }
}
