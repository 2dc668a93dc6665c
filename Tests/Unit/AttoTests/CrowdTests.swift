import Glibc
import TestSupport
import Testing

@testable import Atto
@testable import AttoEventLoop

/// Hundreds of connections in one process.
@Suite(.serialized, .oneByOne) struct CrowdTests {
  /// Fewer where the process may not have two descriptors for each, beside those of other tests.
  static let size = min(500, (raiseDescriptorLimit() - 400) / 2)
  static let values = 20

  /// Whether nothing wakes the loop within a second from now: no descriptor is ready, no work
  /// waits, and no timer is due.
  static func isIdle(_ loop: Loop) async throws -> Bool {
    try await loop.withWaiter { (waiter: Waiter<Bool, AttoError>) in
      var poll = pollfd(fd: loop.epoll, events: Int16(POLLIN), revents: 0)
      let isQuiet = Glibc.poll(&poll, 1, 0) == 0 && loop.local.isEmpty
      let isSoon = loop.timers.deadline.map { $0 < loop.refreshNow() + 1_000_000_000 } ?? false
      waiter.resume(.success(isQuiet && !isSoon))
    }
  }

  /// All discover and subscribe, all get everything in order, and then the loop is idle.
  @Test(arguments: [1, 2]) func fiveHundredConnections(_ loops: Int) async throws {
    try await withDeadline(seconds: 120) {
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
          let delivered = try await bench.server.notify(counted(number), of: bench.values)
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

      // Back-pressure must leave nothing that keeps the loop busy.
      for loop in loops == 1 ? [server] : [server, client] {
        try await until { try await Self.isIdle(loop) }
      }
      print(
        "crowd of \(Self.size), \(loops) loop(s): connect, discover, subscribe"
          + " \(subscribed - begin); \(Self.values) values to each \(delivered - subscribed)")
      for (connection, _) in crowd { connection.close() }
      try await until { try await bench.server.clients.isEmpty }
    }
  }

  /// A connection with much to read does not delay others until all of it is read.
  @Test func oneConnectionLeavesOthersTheirTurn() async throws {
    try await withDeadline {
      let busy = try RawPeer()
      let quiet = try RawPeer()
      let order = Log<String>()
      let first = try await busy.connect { $0.monitor = { _ in order.append("busy") } }
      let second = try await quiet.connect { $0.monitor = { _ in order.append("quiet") } }
      // On the loop's thread, so that all of it is there at the next poll.
      let share = ConnectionCore.pdusPerTurn
      try await Loop.shared.withWaiter { (waiter: Waiter<Void, AttoError>) in
        for number in 0..<(2 * share) { busy.send(notification(3, number), waits: false) }
        quiet.send(notification(3, 0), waits: false)
        waiter.resume(.success(()))
      }
      await order.wait(count: 2 * share + 1)
      let place = try #require(order.all.firstIndex(of: "quiet"))
      #expect(place <= share)
      withExtendedLifetime((first, second)) {}
    }
  }
}
