import TestSupport
import AttoATT
import AttoText
import Foundation
import Testing

@testable import AttoFormats

/// Mutated files are read or refused, but never trap.
@Suite(.sideBySide) struct MutationTests {
  static let rounds = 1000

  @Test(arguments: ["heart-rate.json", "edges.json", "uart.json"]) func mutatedProfiles(
    _ name: String
  ) throws {
    let seed = testSeed()
    var generator = SplitMix64(seed: seed)
    let original = try Fixtures.bytes(name)
    var refused = 0
    for _ in 0..<Self.rounds {
      let bytes = generator.mutate(original)
      do throws(ProfileError) {
        _ = try Profile(json: bytes)
      } catch {
        refused += 1
        #expect(error.position != nil, "seed \(seed)")
        #expect(!error.description.isEmpty)
      }
    }
    // Changes of comments and names are not mistakes.
    #expect(refused > Self.rounds / 4, "seed \(seed)")
  }

  @Test func mutatedTranscripts() {
    let seed = testSeed()
    var generator = SplitMix64(seed: seed)
    let original = Array(TranscriptTests.example.utf8)
    var refused = 0
    for _ in 0..<Self.rounds * 3 {
      let bytes = generator.mutate(original)
      do throws(TranscriptError) {
        let transcript = try Transcript(text: bytes)
        // The printed text reads back as the same transcript.
        #expect(try Transcript(text: Array(transcript.description.utf8)) == transcript)
      } catch {
        refused += 1
        #expect(error.position != nil, "seed \(seed)")
      }
    }
    #expect(refused > Self.rounds / 4, "seed \(seed)")
  }

  /// Foundation accepts and refuses the same JSON, except where it is less strict.
  @Test func agreesWithFoundationOnWhatIsJSON() throws {
    let seed = testSeed()
    var generator = SplitMix64(seed: seed)
    let original = Array(
      #"{"a": [1, -2.5e+3, 0.1, true, false, null], "b\u00e9\n": "\ud83d\ude00 \"\\/ é"}"#.utf8)
    var accepted = 0
    for _ in 0..<20_000 {
      let bytes = generator.mutate(original)
      let theirs = try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
      let ours: JSON?
      do throws(TextMistake) {
        ours = try JSONParser.parse(bytes)
      } catch {
        // Only we refuse repeated keys and trailing commas, and Foundation takes NUL bytes for
        // UTF-16.
        let next = bytes.dropFirst(error.offset).first
        let isTrailingComma =
          (error.expected == "a JSON value" && next == 0x5D)
          || (error.expected == "a key in quotes" && next == 0x7D)
        if error.expected == "each key once" || isTrailingComma || bytes.prefix(4).contains(0) {
          continue
        }
        ours = nil
      }
      guard let ours else {
        #expect(theirs == nil, "seed \(seed): \(String(decoding: bytes, as: UTF8.self))")
        continue
      }
      accepted += 1
      // Foundation refuses numbers that do not fit a Double. We keep numbers as text.
      guard let theirs else {
        #expect(
          Self.numbers(ours).contains { Double($0).map { !$0.isFinite } ?? true },
          "seed \(seed): \(String(decoding: bytes, as: UTF8.self))")
        continue
      }
      #expect(
        Self.equal(ours, theirs), "seed \(seed): \(String(decoding: bytes, as: UTF8.self))")
    }
    #expect(accepted > 400)
  }

  static func numbers(_ node: JSON) -> [String] {
    switch node.content {
    case .number(let text): [text]
    case .array(let nodes): nodes.flatMap(numbers)
    case .object(let members): members.flatMap { numbers($0.value) }
    default: []
    }
  }

  static func equal(_ node: JSON, _ value: Any) -> Bool {
    switch node.content {
    case .null: return value is NSNull
    case .bool(let bool): return value as? Bool == bool
    case .number(let text): return (value as? NSNumber)?.doubleValue == Double(text)
    case .string(let text): return value as? String == text
    case .array(let nodes):
      guard let values = value as? [Any] else { return false }
      return nodes.count == values.count && zip(nodes, values).allSatisfy { equal($0, $1) }
    case .object(let members):
      guard let values = value as? [String: Any] else { return false }
      // Both compare keys by canonical equivalence, as Swift's strings do.
      return members.count == values.count
        && members.allSatisfy { member in
          values[member.name].map { equal(member.value, $0) } ?? false
        }
    }
  }
}
