import Glibc
import Testing

@testable import Atto

/// Hundreds of connections in one process.
@Suite(.serialized) struct CrowdTests {
  static let size = 500
  static let values = 20

  /// What a loop's thread has used.
  struct Usage: Sendable, CustomStringConvertible {
    var microseconds = 0
    /// Times that it has slept and been woken.
    var wakeUps = 0

    init(ofTheLoop: Void) {
      var usage = rusage()
      // RUSAGE_THREAD
      getrusage(__rusage_who_t(1), &usage)
      microseconds =
        (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1_000_000
        + Int(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
      wakeUps = usage.ru_nvcsw
    }

    static func of(_ loop: Loop) async throws -> Usage {
      try await loop.complete { $0.resume(.success(Usage(ofTheLoop: ()))) }
    }

    static func - (a: Usage, b: Usage) -> Usage {
      var difference = a
      difference.microseconds -= b.microseconds
      difference.wakeUps -= b.wakeUps
      return difference
    }

    var description: String { "\(microseconds) us, \(wakeUps) wake-ups" }
  }

  /// All discover and subscribe, all get everything in order, and then nothing turns any more.
  @Test(arguments: [1, 2]) func fiveHundredConnections(_ loops: Int) async throws {
    try await withDeadline(seconds: 120) {
      raiseDescriptorLimit()
      let server = try Loop(name: "crowd server")
      try server.start()
      let client = loops == 1 ? server : try Loop(name: "crowd clients")
      if loops == 2 { try client.start() }
      defer {
        server.stop()
        if loops == 2 { client.stop() }
      }
      let clock = ContinuousClock()
      let begin = clock.now
      let bench = try await Bench(loop: server)
      let crowd = try await withThrowingTaskGroup(of: (Connection, ReceivedValues).self) { group in
        for _ in 0..<Self.size {
          group.addTask {
            let connection = try await bench.connect(loop: client)
            let found = try await connection.discover()
            let characteristic = try #require(found.characteristic(valueHandle: bench.values))
            return (connection, try await connection.subscribe(to: characteristic))
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      let subscribed = clock.now
      #expect(try await bench.server.clients.count == Self.size)
      #expect(bench.failures.all.isEmpty)
      async let notified: Void = {
        for number in 0..<Self.values {
          let delivered = try await bench.server.notify(bench.values, counted(number))
          #expect(delivered == Delivered(count: Self.size))
        }
      }()
      let complete = try await withThrowingTaskGroup(of: Bool.self) { group in
        for (_, values) in crowd {
          group.addTask {
            var iterator = values.makeAsyncIterator()
            for expected in 0..<Self.values {
              guard let value = try await iterator.next(), number(value.value) == expected,
                value.missed == 0
              else { return false }
            }
            return true
          }
        }
        return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      try await notified
      #expect(complete == Self.size)
      let delivered = clock.now

      // One idle second, measured on each loop's own thread.
      for loop in loops == 1 ? [server] : [server, client] {
        let before = try await Usage.of(loop)
        try await loop.sleep(for: .seconds(1))
        let used = try await Usage.of(loop) - before
        print("crowd of \(Self.size), \(loop.name) of \(loops): idle second \(used)")
        #expect(used.microseconds < 5000)
        #expect(used.wakeUps <= 10)
      }
      print(
        "crowd of \(Self.size), \(loops) loop(s): connect, discover, subscribe"
          + " \(subscribed - begin); \(Self.values) values to each \(delivered - subscribed)")
      for (connection, _) in crowd { connection.close() }
      try await until { try await bench.server.clients.isEmpty }
    }
  }

  /// A connection with much to read leaves others their turn: theirs does not wait for all of it.
  @Test func oneConnectionLeavesOthersTheirTurn() async throws {
    try await withDeadline {
      let busy = RawPeer()
      let quiet = RawPeer()
      let order = Log<String>()
      let first = try await busy.connect { $0.monitor = { _ in order.append("busy") } }
      let second = try await quiet.connect { $0.monitor = { _ in order.append("quiet") } }
      // On the loop's thread, so that all of it is there when the loop looks.
      let share = ConnectionCore.pdusPerTurn
      try await Loop.shared.complete { (completion: Completion<Void>) in
        for number in 0..<(2 * share) { busy.send(notification(3, number), waits: false) }
        quiet.send(notification(3, 0), waits: false)
        completion.resume(.success(()))
      }
      await order.wait(count: 2 * share + 1)
      let place = try #require(order.all.firstIndex(of: "quiet"))
      #expect(place <= share)
      withExtendedLifetime((first, second)) {}
    }
  }
}
