import AttoATT
import AttoEventLoop
import AttoGATT
import TestSupport
import Testing

@testable import Atto

/// A server with a client that reads and one that does not.
private struct SlowBench {
  let server = LocalServer(Database())
  let service: AttributeHandle
  let value: AttributeHandle
  let configuration: AttributeHandle
  let slow: RawPeer
  let events = Log<ServedEvent>()
  private let observation: ServerObservation
  private let stalled: Connection
  private let listener: ServerListener
  private let folder = TemporaryFolder()
  let values: ReceivedValues

  init(_ backlog: ConnectionOptions.Backlog?) async throws {
    let layout = try await server.add(Bench.service)
    service = layout.range.start
    value = layout.characteristics[2].valueHandle
    configuration = try #require(layout.characteristics[2].configurationHandle)
    observation = try await server.observe { [events] in events.append($0) }
    slow = try RawPeer()
    stalled = try await slow.connect(server: server) { $0.backlog = backlog }
    slow.send([0x12, UInt8(configuration.rawValue), 0, 1, 0])
    await slow.expect([0x13])
    // Until its link and the outbox are full.
    var filled = 0
    while try await server.notifyIfRoom(counted(filled), of: value).count == 1 {
      filled += 1
      try #require(filled < 100_000)
    }
    sent = filled
    listener = try await server.listen(on: .unix(path: folder.socket()))
    let other = try await Connection.connect(to: .unix(path: folder.socket()))
    values = try await other.subscribe(to: value, cccd: configuration)
  }

  /// The number of values that the slow client was sent before the other one came.
  let sent: Int

  /// The values that were dropped, as observers were told.
  var told: [UInt64] {
    events.all.compactMap { if case .valuesDropped(_, _, let count) = $0 { count } else { nil } }
  }
}

/// A client that takes values more slowly than others. ``StalledClientTests`` has `notifyIfRoom`.
@Suite(.oneByOne) struct SlowClientTests {
  @Test func aSlowClientLosesItsOldestValuesAndOthersNone() async throws {
    try await withDeadline(seconds: 60) {
      let bench = try await SlowBench(ConnectionOptions.Backlog(values: 100))
      var iterator = bench.values.makeAsyncIterator()
      for number in 0..<6000 {
        let delivered = try await bench.server.notify(counted(number), of: bench.value)
        #expect(delivered == Delivered(count: 1, kept: 1, overflowed: number < 100 ? 0 : 1))
        #expect(try await iterator.next()?.value == counted(number))
      }
      #expect(bench.told == [1])
      #expect(try await bench.server.counters.droppedValues == 5900)
      // It reads again: what was sent, then the newest hundred, then new values.
      for number in Array(0..<bench.sent) + Array(5900..<6000) {
        let pdu = await bench.slow.receive()
        #expect(pdu == notification(bench.value.rawValue, number))
        if pdu.isEmpty { break }
      }
      try await until { bench.told == [1, 5899] }
      #expect(try await bench.server.notify(counted(7), of: bench.value) == Delivered(count: 2))
      await bench.slow.expect(notification(bench.value.rawValue, 7))
    }
  }

  @Test func octetsAreLimitedToo() async throws {
    try await withDeadline(seconds: 60) {
      let bench = try await SlowBench(ConnectionOptions.Backlog(values: 1000, octets: 200))
      let long = [UInt8](repeating: 0x55, count: 90)
      for number in 0..<10 {
        let delivered = try await bench.server.notify(long, of: bench.value)
        #expect(delivered.overflowed == (number < 2 ? 0 : 1))
      }
      // A value alone may be longer than the limit.
      let longest = [UInt8](repeating: 0x66, count: 400)
      #expect(try await bench.server.notify(longest, of: bench.value).overflowed == 1)
      #expect(try await bench.server.counters.droppedValues == 10)
    }
  }

  @Test func aSlowClientCanLoseItsConnection() async throws {
    try await withDeadline(seconds: 60) {
      let bench = try await SlowBench(ConnectionOptions.Backlog(values: 10, overflow: .disconnects))
      for _ in 0..<10 {
        #expect(
          try await bench.server.notify([1], of: bench.value) == Delivered(count: 1, kept: 1))
      }
      #expect(
        try await bench.server.notify([1], of: bench.value) == Delivered(count: 1, failures: 1))
      #expect(
        bench.events.all.contains {
          if case .evicted(_, _, .tooSlow(waiting: 10)) = $0 { true } else { false }
        })
      #expect(try await bench.server.notify([1], of: bench.value) == Delivered(count: 1))
    }
  }

  @Test func aSenderCanWaitForAll() async throws {
    try await withDeadline(seconds: 60) {
      let bench = try await SlowBench(nil)
      let isSent = Log<Delivered>()
      let sending = Task {
        isSent.append(try await bench.server.notify([9], of: bench.value))
      }
      // The server has something else to do in the meantime, and the value is not sent.
      for _ in 0..<100 { _ = try await bench.server.clients }
      #expect(isSent.all.isEmpty)
      for number in 0..<bench.sent {
        await bench.slow.expect(notification(bench.value.rawValue, number))
      }
      try await sending.value
      #expect(isSent.all == [Delivered(count: 2)])
    }
  }

  @Test func nothingIsKeptForAClientThatIsAlone() async throws {
    try await withDeadline(seconds: 60) {
      let bench = try await SlowBench(ConnectionOptions.Backlog(values: 1))
      let first = try #require(try await bench.server.clients.first)
      let sending = Task {
        for number in 0..<20 {
          try await bench.server.notify(counted(number), of: bench.value, to: first)
        }
      }
      for number in Array(0..<bench.sent) + Array(0..<20) {
        await bench.slow.expect(notification(bench.value.rawValue, number))
      }
      try await sending.value
      #expect(bench.told.isEmpty)
    }
  }

  @Test func whatIsKeptIsNotSentAfterItsServiceHasGone() async throws {
    try await withDeadline(seconds: 60) {
      let bench = try await SlowBench(ConnectionOptions.Backlog())
      for _ in 0..<10 { try await bench.server.notify([1], of: bench.value) }
      try await bench.server.remove(service: bench.service)
      for number in 0..<bench.sent {
        await bench.slow.expect(notification(bench.value.rawValue, number))
      }
      bench.server.disconnect()
      await bench.slow.expect([])
    }
  }

  @Test func aCancelledSenderStopsWaiting() async throws {
    try await withDeadline(seconds: 60) {
      let bench = try await SlowBench(nil)
      let sending = Task { try await bench.server.notify([9], of: bench.value) }
      for _ in 0..<10 { _ = try await bench.server.clients }
      sending.cancel()
      await #expect(throws: AttoError.cancelled) { try await sending.value }
    }
  }
}
