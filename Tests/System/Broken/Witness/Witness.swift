import AttoFormats
import FoundationEssentials
import Glibc
import AttoSimulation

/// Checks the Atto that it was built with.
///
///     witness transcripts FOLDER     every case of every transcript, in virtual time
///     witness simulator FIRST COUNT  seeds of the simulator, until one violates a rule
///
/// Prints the first case that fails, or the seed and the rule that it violates, and exits with 4.
/// Exits with 0 if there is none.
@main struct Witness {
  static func main() throws {
    let words = Array(CommandLine.arguments.dropFirst())
    switch (words.first, words.count) {
    case ("transcripts", 2): try transcripts(URL(filePath: words[1]))
    case ("simulator", 3): simulator(UInt64(words[1])!, UInt64(words[2])!)
    default: fatalError("witness transcripts FOLDER, or witness simulator FIRST COUNT")
    }
  }

  private static func transcripts(_ folder: URL) throws {
    var count = 0
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    for name in names.sorted() where name.hasSuffix(".att") {
      let transcript = try Transcript(contentsOfFile: folder.appending(path: name).path)
      for test in transcript.cases {
        say("\(test.name) (\(name))")
        let complaints: [String]
        if let profile = transcript.profile(of: test) {
          func read(_ path: String) throws -> Profile {
            try Profile(contentsOfFile: folder.appending(path: path).path)
          }
          complaints = try TranscriptServerPlayer(read(profile), read: read).play(test)
        } else {
          complaints = TranscriptClientPlayer().play(test)
        }
        count += 1
        guard let first = complaints.first else { continue }
        say(": \(first)\n")
        exit(4)
      }
    }
    say("\(count) cases\n")
  }

  private static func simulator(_ first: UInt64, _ count: UInt64) {
    for seed in first..<first + count {
      say("seed \(seed)")
      guard let violation = Simulator(SimulationPlan(seed: seed)).run() else { continue }
      say(": \(violation.rule)\n")
      exit(4)
    }
    say("\(count) seeds\n")
  }

  /// Replaces the line with the name of the current test, or appends its result. It is unbuffered,
  /// so that the name is visible if the test traps.
  private static func say(_ text: String) {
    let line = (text.hasPrefix(":") ? "" : "\r\u{1B}[K") + text
    _ = line.withCString { write(STDOUT_FILENO, $0, strlen($0)) }
  }
}
