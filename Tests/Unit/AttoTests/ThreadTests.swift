import TestSupport
import Testing

@testable import Atto

/// Calls on one connection from many threads.
@Suite(.oneByOne) struct ThreadTests {
  /// As many calls as may wait are answered; the others fail at once.
  @Test func thousandReadsAtOnce() async throws {
    try await withDeadline {
      let peer = try RawPeer()
      let connection = try await peer.connect()
      let results = Log<AttoError?>()
      for _ in 0..<1000 {
        Task { results.append(await failure { try await connection.readOnce(3) }) }
      }
      // One is in flight and 256 wait.
      await results.wait(count: 1000 - 257)
      #expect(results.all.allSatisfy { $0 == .misuse(.tooManyProcedures(limit: 256)) })
      for _ in 0..<257 {
        await peer.expect([0x0A, 3, 0])
        peer.send([0x0B, 1])
      }
      await results.wait(count: 1000)
      #expect(results.all.count { $0 == nil } == 257)
      #expect(try await connection.counters == ConnectionCounters(sent: 257, received: 257))
    }
  }

  @Test func thousandReadsAreAnswered() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let connection = try await bench.connect()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<200 {
          group.addTask {
            for _ in 0..<5 {
              let value = try await connection.readOnce(bench.greeting)
              #expect(value == Bench.hello)
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try await connection.counters == ConnectionCounters(sent: 1000, received: 1000))
    }
  }

  /// All kinds of calls at once, while the server notifies, and then the end in the middle.
  @Test func everythingAtOnce() async throws {
    try await withDeadline {
      let bench = try await Bench()
      bench.server.onWrite(of: bench.application) { _ in }
      try await bench.settle()
      bench.server.onRead(of: bench.application) { _ in
        await Task.yield()
        return [1]
      }
      try await bench.settle()
      let connection = try await bench.connect { $0.valueLimit = 16 }
      let enough = Log<Void>()
      let ends = await withTaskGroup(of: AttoError?.self) { group in
        for worker in 0..<40 {
          group.addTask {
            await failure {
              while true {
                switch worker % 8 {
                case 0: _ = try await connection.readOnce(bench.greeting)
                case 1: _ = try await connection.readOnce(bench.application)
                case 2: try await connection.write([1], to: bench.application)
                case 3: try await connection.writeWithoutResponse([2], to: bench.application)
                case 4: _ = try await connection.readLong(bench.long)
                case 5:
                  try await connection.writeLong(Array(Bench.long[..<50]), to: bench.application)
                case 6:
                  let values = try await bench.subscribe(connection)
                  var iterator = values.makeAsyncIterator()
                  if try await iterator.next() == nil { return }
                default:
                  let delivered = try await bench.server.notify(counted(worker), of: bench.values)
                  if delivered.failures > 0 { return }
                  if try await bench.server.clients.isEmpty { return }
                }
                enough.append(())
              }
            }
          }
        }
        await enough.wait(count: 4000)
        connection.close()
        return await group.reduce(into: []) { $0.append($1) }
      }
      #expect(ends.allSatisfy { $0 == nil || $0 == .closed }, "\(ends)")
    }
  }
}
