import TestSupport
import Foundation
import Testing

/// Writes and checks the page that lists every attack with its tests, from the lists beside this and
/// the names of the tests in this folder.
///
///     ATTO_WRITE_ATTACK_TABLE=1 swift test --filter AttackTableTests
@Suite(.sideBySide) struct AttackTableTests {
  private static let tests = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
  private static let root = tests.deletingLastPathComponent().deletingLastPathComponent()
  private static let page = root.appending(path: "Sources/Core/GATT/GATT.docc/Attacks.md")
  private static let all = Attack.published + Attack.neighbours + Attack.mistakes

  /// A test of this folder, from its name.
  private struct Named {
    let attack: String
    let role: String
    let file: String
  }

  private static func contents(_ file: URL) throws -> String {
    try String(contentsOf: file, encoding: .utf8)
  }

  private static func named() throws -> [Named] {
    let folder = tests.appending(path: "AttackTests/Attacks")
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    var found: [Named] = []
    for file in files where file.hasSuffix(".swift") {
      let text = try contents(folder.appending(path: file))
      #expect(!text.contains(".disabled"), "\(file) leaves a test out")
      let count = text.ranges(of: "@Test(").count
      let names = text.matches(of: /@Test\(\s*"([HNE][0-9]+) (server|client): [^"]+"\s*\)/)
      #expect(names.count == count, "\(file) has a test that is not named after an attack")
      found += names.map {
        Named(attack: String($0.output.1), role: String($0.output.2), file: file)
      }
    }
    return found
  }

  /// Every case of every transcript.
  private static func transcripts() throws -> Set<String> {
    let folder = Fixtures.folder.appending(path: "transcripts")
    var names: Set<String> = []
    for file in try FileManager.default.contentsOfDirectory(atPath: folder.path)
    where file.hasSuffix(".att") {
      for line in try contents(folder.appending(path: file)).split(separator: "\n")
      where line.hasPrefix("# ") {
        names.insert(String(line.dropFirst(2).prefix { $0 != " " }))
      }
    }
    return names
  }

  @Test func everyAttackHasItsTests() throws {
    let named = try Self.named()
    let transcripts = try Self.transcripts()
    let names = Self.all.map(\.name)
    #expect(Set(names).count == names.count)
    #expect(Attack.published.map(\.name) == (1...29).filter { $0 != 25 }.map { "H\($0)" })
    for test in named {
      #expect(names.contains(test.attack), "\(test.file): \(test.attack) is not on the list")
    }
    for attack in Self.all {
      for (role, reason) in [("server", attack.noServer), ("client", attack.noClient)] {
        let isTried = named.contains { $0.attack == attack.name && $0.role == role }
        if let reason {
          #expect(
            !isTried,
            "\(attack.name) \(role) has both a test and a reason for having none: \(reason)")
        } else {
          #expect(isTried, "\(attack.name) \(role) has neither a test nor a reason")
        }
      }
      if attack.noServer != nil, attack.noClient != nil {
        #expect(!attack.also.isEmpty, "\(attack.name) has no test")
      }
      for place in attack.also {
        if place.hasPrefix("transcript ") {
          #expect(transcripts.contains(String(place.dropFirst(11))), "\(attack.name): no \(place)")
          continue
        }
        let parts = place.split(separator: ": ", maxSplits: 1).map(String.init)
        let text = try? Self.contents(Self.tests.appending(path: parts[0]))
        #expect(text?.contains(parts[1]) == true, "\(attack.name): no \(place)")
      }
    }
    let held = Attack.published.count { attack in
      named.contains { $0.attack == attack.name }
    }
    func count(_ letter: Character) -> Int { named.count { $0.attack.first == letter } }
    print(
      "attacks: \(held) of \(Attack.published.count) published, in \(count("H")) tests; "
        + "\(Attack.neighbours.count) related, in \(count("N")); "
        + "\(Attack.mistakes.count) mistakes of other stacks, in \(count("E"))")
  }

  // MARK: The page

  private static func rows(_ attacks: [Attack], _ named: [Named]) -> String {
    func cell(_ attack: Attack, _ role: String, _ reason: String?) -> String {
      if let reason { return "no: \(reason)" }
      let count = named.count { $0.attack == attack.name && $0.role == role }
      return count == 1 ? "yes" : "\(count) tests"
    }
    var text = """
      | | Attack | Broke | Server | Client | Also |
      |---|---|---|---|---|---|

      """
    for attack in attacks {
      let file = named.first { $0.attack == attack.name }?.file
      let also =
        (file.map { ["`\($0)`"] } ?? [])
        + attack.also.map { place in
          place.hasPrefix("transcript ")
            ? "transcript `\(place.dropFirst(11))`"
            : "`\(place.split(separator: "/").last ?? "")`"
        }
      text +=
        "| \(attack.name) | \(attack.title) | \(attack.broke) "
        + "| \(cell(attack, "server", attack.noServer)) "
        + "| \(cell(attack, "client", attack.noClient)) | \(also.joined(separator: ", ")) |\n"
    }
    return text
  }

  @Test func thePageIsUpToDate() throws {
    let named = try Self.named()
    let text = """
      # Attacks

      Attacks and mistakes that broke other stacks, and the tests that show that Atto withstands them.

      ## Overview

      `Tests/Unit/AttackTests/Table/AttackTableTests.swift` writes this page from the lists beside it and the
      names of the tests in `Tests/Unit/AttackTests/Attacks`, and checks that it is up to date. Each attack is
      tested in both roles unless a reason is given. `atto fuzz` also sends those that can be sent to a live
      server.

      ## Published attacks

      There is no H25.

      \(Self.rows(Attack.published, named))
      ## Related cases

      \(Self.rows(Attack.neighbours, named))
      ## Mistakes of other stacks

      These are not attacks. Ordinary peers run into them.

      \(Self.rows(Attack.mistakes, named))
      """
    if ProcessInfo.processInfo.environment["ATTO_WRITE_ATTACK_TABLE"] != nil {
      try text.write(to: Self.page, atomically: true, encoding: .utf8)
    }
    let written = try? Self.contents(Self.page)
    #expect(
      written == text,
      """
      Attacks.md is out of date. Update it with
      ATTO_WRITE_ATTACK_TABLE=1 swift test --filter AttackTableTests
      """)
  }
}
