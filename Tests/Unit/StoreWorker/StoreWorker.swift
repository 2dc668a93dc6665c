import Atto
import Glibc
import AttoStore

/// Stores records until it is killed. It prints `begin KIND PEER NUMBER` before each step, and `done
/// KIND PEER NUMBER` after the store has acknowledged it. All fields of a record are derived from its
/// number, so that a mixed record is detected.
///
///     StoreWorker PATH SEED FIRST-NUMBER
///     StoreWorker hold PATH        holds the store's lock and prints `held`
@main enum StoreWorker {
  static func main() async throws {
    let words = CommandLine.arguments
    if words.count == 3, words[1] == "hold" { try hold(words[2]) }
    guard words.count == 4, var seed = UInt64(words[2]), var number = UInt32(words[3]) else {
      exit(2)
    }
    let store = try await StoreFile(path: words[1])
    func random(_ limit: UInt64) -> UInt64 {
      seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return (seed >> 33) % limit
    }
    while true {
      let peer = Int(random(4))
      let kind = Record.Kind.allCases[Int(random(UInt64(Record.Kind.allCases.count)))]
      say("begin \(kind) \(peer) \(number)")
      try await Record.keep(Step(kind: kind, peer: peer, number: number), in: store)
      say("done \(kind) \(peer) \(number)")
      number += 1
    }
  }

  private static func hold(_ path: String) throws {
    let database = try SQLiteDatabase(path: path)
    try database.transaction { () throws(StoreError) in
      say("held")
      pause()
    }
  }

  /// Writes a line with one call. It is shorter than a pipe's atomic write.
  static func say(_ line: String) {
    let octets = Array((line + "\n").utf8)
    guard write(STDOUT_FILENO, octets, octets.count) == octets.count else { exit(1) }
  }
}
