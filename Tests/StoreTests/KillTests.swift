import Atto
import Glibc
import Testing

@testable import Store
@testable import StoreWorker

/// kill -9 at any instant: every record for which the store had answered is there, and none is
/// half there.
@Suite(.timeLimit(.minutes(5))) struct KillTests {
  let folder = Folder(isOnDisk: true)

  /// What the store must answer for.
  private struct Expected {
    /// Numbers of the records that a peer may have: what was answered for last, and what was
    /// under way.
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

  @Test func killedAHundredTimes() throws {
    let seed = UInt64.random(in: 0 ... .max)
    var random = SplitMix64(seed: seed)
    var number: UInt32 = 1
    var expected: [Int: Expected] = [:]
    var steps = 0
    for round in 0..<100 {
      // Some are killed while they make the file.
      if round % 10 == 0 {
        for name in folder.entries { unlink(folder.file(name)) }
        expected = [:]
      }
      let worker = try Worker(folder.file(), "\(random.next())", "\(number)")
      var lines: [String] = []
      for _ in 0..<Int.random(in: 0...24, using: &random) {
        lines.append(try #require(worker.line(), "seed \(seed): the worker fell silent"))
      }
      // And then at any instant of what comes next.
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
      let store = try StoreFile(path: folder.file())
      for peer in 0..<4 {
        try check(peer, in: store, &expected[peer, default: Expected()], what)
      }
    }
    #expect(steps > 300, "seed \(seed): too little was kept for the test to mean anything")
  }

  private func check(
    _ peer: Int, in store: StoreFile, _ expected: inout Expected, _ what: String
  ) throws {
    let bond = try store.bond(adapter: Record.adapter, peer: Record.peer(peer))
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
    // Kept only for those that are bonded: as long as they are not, a step does nothing.
    settle(.client) {
      bond?.client == $0.map { Record.client($0) } || bond?.client == nil
    }
    settle(.database) {
      (try? store.database(of: PeerName(Record.peer(peer))))
        == .some($0.map { Record.database($0) })
    }
    // Each signature key is kept in a step of its own; both count.
    for (kind, found) in [
      (Record.Kind.counter, bond?.ownSignature?.counter),
      (.accepted, bond?.peerSignature?.counter),
    ] {
      let allowed = expected.allowed[kind] ?? [nil]
      // Removed, be it by a step that was killed before it could say so: what comes is a new bond.
      if bond == nil { expected.allowed[kind] = [nil] }
      if bond == nil || allowed == [nil] { continue }
      let least = allowed[0] ?? 0
      if let found, found < least {
        Issue.record("\(what): \(kind) of \(peer) went back to \(found) from \(least)")
      }
      // As it was before or at what was under way, and for all that follows as it is.
      expected.allowed[kind] = [found]
    }
  }
}
