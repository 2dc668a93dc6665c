import Atto
import AttoLinks
import Glibc

/// What is counted by `Tests/System/Counts/run`, one row to a run:
///
///     counts ROW COUNT                     rows in memory, and both ends in one thread
///     counts ROW COUNT BURST FD CONTROL    rows of one end; the peer is at the other end of FD
///
/// A row does its work COUNT times; where PDUs come in bursts, that is a burst of BURST. What it
/// takes beyond that depends on neither, so that the difference of two runs is the price of the
/// work alone. For that nothing may depend on who is quicker, either: before a burst is received
/// this end waits on CONTROL until all of it is there.
@main
struct Counts {
  static func main() throws {
    let words = CommandLine.arguments
    guard words.count >= 3, let count = Int(words[2]), count > 0 else {
      stop("a row and a count are needed; Tests/System/Counts/run knows them")
    }
    let row = words[1]
    if let body = CodecRows.all[row] ?? memory[row] { return try body(count) }
    guard words.count >= 6, let burst = Int(words[3]), let descriptor = Int32(words[4]),
      let control = Int32(words[5])
    else { stop("there is no row \"\(row)\" in memory; others want a burst and two descriptors") }
    let gate = Gate(descriptor: control)
    let loop = try Loop(name: "counts")
    if row == "server" {
      try ServerEnd(gate, loop).run(descriptor)
    } else if let body = ClientRows.all[row] {
      try loop.runBlocking {
        let connection = try await Connection.adopt(
          { () throws(LinkError) in try SocketLink.adopt(descriptor) }, loop: loop)
        try await body(connection, Rounds(count: count, burst: burst), gate)
      }
    } else {
      stop("there is no row \"\(row)\"")
    }
  }

  /// Rows without a peer.
  private static let memory: [String: @Sendable (Int) throws -> Void] = [
    "bearer-read": BearerRow.reads, "session-read": SessionPair.reads,
    "session-discovery": SessionPair.discoveries, "read-busy": SocketPair.reads,
    "server-crowd": ServerCrowd.comesAndGoes,
    // What a counter must find if it is one.
    "one-array": { count in
      var last: [UInt8] = []
      for number in 0..<count { last = [UInt8](repeating: UInt8(number & 0x7F), count: 100) }
      guard last.count == 100 else { stop("no array") }
    },
  ]
}

/// Ends the program with status 2.
func stop(_ message: String) -> Never {
  let line = "counts: \(message)\n"
  _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
  exit(2)
}

/// What a row of one end does.
struct Rounds: Sendable {
  let count: Int
  let burst: Int
}

/// Where this end waits until the peer has sent all that it wants to send.
struct Gate: Sendable {
  let descriptor: Int32

  /// Says that this end is ready, if the peer cannot know, and waits for one octet.
  ///
  /// The loop's thread stands still meanwhile: nothing is received before everything is there.
  func pass(asking: Bool = false) {
    var octet: UInt8 = 1
    if asking, write(descriptor, &octet, 1) != 1 { stop("the peer's gate is closed") }
    if read(descriptor, &octet, 1) != 1 { stop("the peer's gate is closed") }
  }
}
