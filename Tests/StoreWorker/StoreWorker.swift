import Atto
import Glibc
import Store

/// Keeps records in a store until it is killed. Each line it prints is a step: `begin KIND PEER
/// NUMBER` before, `done KIND PEER NUMBER` after the store has said that it is kept. Everything in
/// a record follows from its number, so that one that is half of this and half of that shows.
///
///     StoreWorker PATH SEED FIRST-NUMBER
///     StoreWorker hold PATH        holds the store's lock and says so
@main enum StoreWorker {
  static func main() throws {
    let words = CommandLine.arguments
    if words.count == 3, words[1] == "hold" { try hold(words[2]) }
    guard words.count == 4, var seed = UInt64(words[2]), var number = UInt32(words[3]) else {
      exit(2)
    }
    let store = try StoreFile(path: words[1])
    func random(_ limit: UInt64) -> UInt64 {
      seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return (seed >> 33) % limit
    }
    while true {
      let peer = Int(random(4))
      let kind = Record.Kind.allCases[Int(random(UInt64(Record.Kind.allCases.count)))]
      say("begin \(kind) \(peer) \(number)")
      let told = try Record.keep(kind, peer, number, in: store)
      say("done \(kind) \(peer) \(told)")
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

  /// At once and whole: a line is shorter than what a pipe takes in one piece.
  static func say(_ line: String) {
    let octets = Array((line + "\n").utf8)
    guard write(STDOUT_FILENO, octets, octets.count) == octets.count else { exit(1) }
  }
}
