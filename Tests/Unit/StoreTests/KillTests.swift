import Atto
import AttoATT
import Glibc
import TestSupport
import Testing

@testable import AttoStore
@testable import StoreWorker

/// After kill -9 at any instant, every record that was acknowledged is there, and none is incomplete.
@Suite(.timeLimit(.minutes(5)), .oneByOne) struct KillTests {
  let folder = TemporaryFolder()

  @Test func killedAHundredTimes() async throws {
    let seed = testSeed()
    var random = SplitMix64(seed: seed)
    var number: UInt32 = 1
    var ledger = Ledger()
    var steps = 0
    for round in 0..<100 {
      // Some are killed while they create the file.
      if round % 10 == 0 {
        for name in folder.entries { unlink(folder.file(name)) }
        ledger = Ledger()
      }
      let worker = try Worker(folder.file(), "\(random.next())", "\(number)")
      var lines: [String] = []
      for _ in 0..<Int.random(in: 0...24, using: &random) {
        lines.append(try #require(worker.line(), "seed \(seed): the worker printed nothing"))
      }
      // Then at any instant of the next step.
      var wait = timespec(tv_sec: 0, tv_nsec: Int.random(in: 0...3_000_000, using: &random))
      nanosleep(&wait, nil)
      worker.kill()
      lines += worker.rest()
      for line in lines {
        let words = line.split(separator: " ")
        try #require(words.count == 4, "\(line)")
        let kind = try #require(Record.Kind(rawValue: String(words[1])))
        let step = Step(
          kind: kind, peer: try #require(Int(words[2])), number: try #require(UInt32(words[3])))
        if words[0] == "begin" {
          ledger.begin(step)
          number = step.number + 1
        } else {
          ledger.end()
          steps += 1
        }
      }
      let store = try await StoreFile(path: folder.file())
      let wrong = await ledger.check(store)
      try #require(wrong.isEmpty, "seed \(seed), round \(round): \(wrong)")
    }
    #expect(steps > 300, "seed \(seed): too few records for a meaningful test")
  }
}
