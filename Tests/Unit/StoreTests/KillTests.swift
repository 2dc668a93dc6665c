import Atto
import AttoATT
import Glibc
import TestSupport
import Testing

@testable import AttoStore
@testable import StoreWorker

/// After kill -9 at any instant, every record that was acknowledged is there, and none is incomplete.
@Suite(.timeLimit(.minutes(5))) struct KillTests {
  let folder = TemporaryFolder()

  /// The records that a peer may have.
  private struct Expected {
    /// Numbers of the allowed records: the last acknowledged one and the one in progress.
    var allowed: [Record.Kind: [UInt32?]] = [:]

    mutating func begin(_ kind: Record.Kind, _ number: UInt32) {
      if kind == .removal {
        for kind in Record.Kind.allCases { allowed[kind, default: [nil]].append(nil) }
      } else {
        allowed[kind, default: [nil]].append(number)
      }
    }

    mutating func end(_ kind: Record.Kind, _ number: UInt32) {
      if kind == .removal { allowed = [:] } else { allowed[kind] = [number] }
    }
  }

  @Test func killedAHundredTimes() async throws {
    let seed = testSeed()
    var random = SplitMix64(seed: seed)
    var number: UInt32 = 1
    var expected: [Int: Expected] = [:]
    var steps = 0
    for round in 0..<100 {
      // Some are killed while they create the file.
      if round % 10 == 0 {
        for name in folder.entries { unlink(folder.file(name)) }
        expected = [:]
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
        let kind = try #require(Record.Kind(rawValue: String(words[1])))
        let (peer, told) = (Int(words[2])!, UInt32(words[3])!)
        if words[0] == "begin" {
          expected[peer, default: Expected()].begin(kind, told)
          number = told + 1
        } else {
          expected[peer, default: Expected()].end(kind, told)
          steps += 1
        }
      }
      let what = "seed \(seed), round \(round)"
      let store = try await StoreFile(path: folder.file())
      for peer in 0..<4 {
        try await check(peer, in: store, &expected[peer, default: Expected()], what)
      }
    }
    #expect(steps > 300, "seed \(seed): too few records for a meaningful test")
  }

  private func check(
    _ peer: Int, in store: StoreFile, _ expected: inout Expected, _ what: String
  ) async throws {
    let bond = try await store.bond(adapter: Record.adapter, peer: Record.peer(peer))
    func settle(_ kind: Record.Kind, _ isRight: (UInt32?) -> Bool) {
      let allowed = expected.allowed[kind] ?? [nil]
      guard let found = allowed.last(where: isRight) else {
        Issue.record("\(what): \(kind) of \(peer) is none of \(allowed): \(bond as Any)")
        return
      }
      expected.allowed[kind] = [found]
    }
    settle(.longTermKey) {
      bond?.longTermKeys.first == $0.map { Record.longTermKey(peer, $0) }
    }
    settle(.identity) { bond?.identityKey?.value == $0.map { Record.key($0) } }
    // Stored only for bonded peers; for others the step does nothing.
    settle(.client) {
      bond?.client == $0.map { Record.client($0) } || bond?.client == nil
    }
    let database = try await store.database(of: PeerName(Record.peer(peer)))
    settle(.database) { database == $0.map { Record.database($0) } }
    // Each signature key is stored in a transaction of its own.
    for (kind, found) in [
      (Record.Kind.counter, bond?.ownSignature?.counter),
      (.accepted, bond?.peerSignature?.counter),
    ] {
      let allowed = expected.allowed[kind] ?? [nil]
      // Removed, perhaps by a step that was killed before it was acknowledged.
      if bond == nil { expected.allowed[kind] = [nil] }
      if bond == nil || allowed == [nil] { continue }
      let least = allowed[0] ?? 0
      if let found, found < least {
        Issue.record("\(what): \(kind) of \(peer) went back to \(found) from \(least)")
      }
      // The previous value or the one in progress; from now on the value that was found.
      expected.allowed[kind] = [found]
    }
  }
}
