import Atto
import Glibc

/// The rows of the table, one to a run: `Benchmarks/run` calls this and Bare/bare.c alike.
///
///     AttoBenchmarks serve FD -              a server until its peer closes
///     AttoBenchmarks listen PATH CLIENTS     a server for so many
///     AttoBenchmarks ROW FD COUNT SIZE       a client with the engine alone: Session and Loop
///     AttoBenchmarks async-ROW FD COUNT SIZE the same with the async API
///     AttoBenchmarks thread - COUNT          both ends in one thread, without a loop
///     AttoBenchmarks record-ROW FD MTU       the exchanges of a row, as `> HEX` and `< HEX`
///     AttoBenchmarks idle - COUNT            this many connections, and what they cost
///
/// Prints one line of JSON: {"count":N,"seconds":S,"cpu":S}.
@main
struct AttoBenchmarks {
  static func main() throws {
    let words = CommandLine.arguments
    guard words.count >= 4 else {
      print("what, descriptor and count are needed; Benchmarks/run knows them")
      exit(2)
    }
    let descriptor = Int32(words[2]) ?? -1
    let count = Int(words[3]) ?? 0
    let size = words.count > 4 ? Int(words[4]) ?? 20 : 20
    let loop = try Loop(name: "bench")
    switch words[1] {
    case "serve": try serve(descriptor, on: loop)
    case "listen": try listen(at: words[2], clients: count, on: loop)
    case "thread": try readsInOneThread(count)
    case "idle": try holdIdleConnections(count, on: loop)
    case "read", "write-command", "notify", "long-read", "long-write", "discover":
      try EngineRows(descriptor, loop).run(words[1], count, size)
    case let row where row.hasPrefix("async-"):
      try AsyncRows(descriptor, loop).run(String(row.dropFirst(6)), count, size)
    case let row where row.hasPrefix("record-"):
      try record(String(row.dropFirst(7)), descriptor, mtu: count, on: loop)
    default:
      print("there is no row \(words[1])")
      exit(2)
    }
  }
}

/// Times of a row.
struct Stopwatch {
  private let began = Stopwatch.now(CLOCK_MONOTONIC)
  private let cpu = Stopwatch.now(CLOCK_PROCESS_CPUTIME_ID)

  private static func now(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  func report(_ count: Int) {
    let seconds = Stopwatch.now(CLOCK_MONOTONIC) - began
    let cpu = Stopwatch.now(CLOCK_PROCESS_CPUTIME_ID) - self.cpu
    print("{\"count\":\(count),\"seconds\":\(seconds),\"cpu\":\(cpu)}")
  }
}
