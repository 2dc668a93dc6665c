import Atto
import AttoTesting
import TestSupport
import Testing

@Suite("Virtual time", .timeLimit(.minutes(5)), .oneByOne)
struct ClockTests {
  let clock = TestClock()

  @Test("A pause ends when its time has come, not before")
  func pause() async throws {
    let loop = clock.loop
    let events = Log()
    let pausing = Task(executorPreference: loop.tasks) {
      try await loop.sleep(for: .seconds(3600))
      events.append("over")
    }
    await clock.advance(by: .seconds(3599))
    #expect(events.all.isEmpty)
    await clock.advance(by: .seconds(1))
    #expect(events.all == ["over"])
    #expect(clock.now == .seconds(3600))
    try await pausing.value
  }

  @Test("What a timer causes happens at its time, before later timers")
  func order() async throws {
    let (clock, loop) = (clock, clock.loop)
    let events = Log()
    for period in [10, 15] {
      Task(executorPreference: loop.tasks) {
        while true {
          try await loop.sleep(for: .seconds(period))
          events.append("\(period) at \(clock.now.components.seconds)")
        }
      }
    }
    await clock.advance(by: .seconds(31))
    #expect(
      events.all == ["10 at 10", "15 at 15", "10 at 20", "15 at 30", "10 at 30"])
  }

  @Test("An advance by nothing lets the loop do what waits")
  func settles() async throws {
    let thermometer = try await Thermometer(clock.loop)
    let connection = try await Connection.pair(server: thermometer.server)
    let events = Log()
    let reading = Task(executorPreference: clock.loop.tasks) {
      for _ in 0..<100 { _ = try await connection.readOnce(thermometer.name) }
      events.append("read")
    }
    await clock.advance(by: .zero)
    #expect(events.all == ["read"])
    #expect(clock.now == .zero)
    try await reading.value
  }

  @Test("A server whose handler takes too long times out after 30 s")
  func transactionTimeout() async throws {
    let thermometer = try await Thermometer(clock.loop)
    let loop = clock.loop
    thermometer.server.onRead(of: thermometer.unit) { _ in
      try? await loop.sleep(for: .seconds(60))
      return [1]
    }
    let connection = try await Connection.pair(server: thermometer.server)
    let reading = Task(executorPreference: loop.tasks) {
      await failure { try await connection.readOnce(thermometer.unit) }
    }
    await clock.advance(by: .seconds(29))
    #expect(try await connection.awaitedRequest?.left == .seconds(1))
    #expect(await connection.endReason == nil)
    await clock.advance(by: .seconds(1))
    #expect(await reading.value == .bearer(.transactionTimeout(.readRequest)))
  }

  @Test("A test can run on the loop as a whole, with its child tasks")
  func onTheLoop() async throws {
    let clock = clock
    try await withTaskExecutorPreference(clock.loop.tasks) {
      async let first = clock.slept(for: .seconds(10))
      async let second = clock.slept(for: .seconds(20))
      await clock.advance(by: .seconds(3600))
      let times = try await [first, second]
      #expect(times == [.seconds(10), .seconds(20)])
    }
  }

  @Test("A cancelled advance returns")
  func cancelled() async throws {
    let clock = clock
    let advancing = Task(executorPreference: clock.loop.tasks) {
      withUnsafeCurrentTask { $0?.cancel() }
      await clock.advance(by: .seconds(1))
    }
    await advancing.value
  }
}

extension TestClock {
  /// The time after a pause.
  fileprivate func slept(for time: Duration) async throws -> Duration {
    try await loop.sleep(for: time)
    return now
  }
}
