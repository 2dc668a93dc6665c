import Testing

@testable import Atto

/// A server whose links take all that they can.
@Suite struct SaturationTests {
  /// One loop has both ends, so that the link is full whenever it is looked at: what makes room
  /// is followed by more to send in the same turn. The client must be heard nevertheless, or it
  /// could not even say that it has enough.
  @Test(arguments: [nil, 4096]) func clientOfAnEndlessSenderIsHeard(_ buffer: Int?) async throws {
    try await withDeadline(seconds: 60) {
      let loop = try Loop(name: "both ends")
      try loop.start()
      defer { loop.stop() }
      var options = ConnectionOptions()
      options.sendBuffer = buffer
      let bench = try await Bench(loop: loop, options: options)
      let connection = try await bench.connect(loop: loop)
      let seen = Log<Void>()
      connection.observeValues { _, _ in if seen.count < 1000 { seen.append(()) } }
      try await connection.write(bench.configuration, [1, 0])
      let (server, values) = (bench.server, bench.values)
      let sending = Task(executorPreference: loop.tasks) {
        let value = [UInt8](repeating: 0x34, count: 20)
        while !Task.isCancelled { try await server.notify(values, value) }
      }
      defer { sending.cancel() }
      await seen.wait(count: 1000)
      for _ in 0..<10 { #expect(try await connection.read(bench.greeting) == Bench.hello) }
      try await connection.write(bench.configuration, [0, 0])
    }
  }
}
