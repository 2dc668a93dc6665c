import AttoATT
import Glibc
import TestSupport
import Testing

@testable import Atto

/// Every call that waits, with every way in which it can end.
@Suite(.oneByOne) struct EndTests {
  enum Call: CaseIterable {
    case read, discover, writeLong, exchange, blocked, indicate, next, closed
  }
  enum End: CaseIterable { case peerCloses, reset, ownClose, cancelled, timeout }

  /// The outcome of a call.
  enum Outcome: Equatable, Sendable {
    case ended
    case delivered(Delivered)
    case failed(AttoError)
  }

  @Test(arguments: Call.allCases, End.allCases)
  func everyWaitEnds(_ call: Call, _ end: End) async throws {
    try await withDeadline("\(call) with \(end)") {
      let peer = try RawPeer()
      let server = LocalServer(Database())
      let layout = try await server.add(Bench.service)
      let handle = layout.characteristics[2].valueHandle
      let connection = try await peer.connect(server: server) {
        if end == .timeout { $0.transactionTimeout = .milliseconds(40) }
      }
      if call == .indicate {
        let configuration = try #require(layout.characteristics[2].configurationHandle)
        peer.send([0x12, UInt8(configuration.rawValue), 0, 2, 0])
        await peer.expect([0x13])
      }
      let values = try await connection.values()
      let task = Task { await Self.outcome(of: call, connection, values, server, handle) }
      switch call {
      case .read: await peer.expect([0x0A, 3, 0])
      case .discover, .writeLong, .exchange, .indicate: #expect(await !peer.receive().isEmpty)
      case .blocked:
        try await until { try await connection.onLoop { $0.session.bearer.isCongested } }
      case .next, .closed: for _ in 0..<10 { _ = try await connection.mtu }
      }
      switch end {
      case .peerCloses: peer.close()
      case .reset:
        if call != .blocked { try await connection.writeWithoutResponse([1], to: 3) }
        peer.close()
      case .ownClose: connection.close()
      case .cancelled: task.cancel()
      case .timeout:
        if [.blocked, .next, .closed].contains(call) {
          #expect(
            await failure { try await connection.readOnce(7) }
              == .bearer(.transactionTimeout(.readRequest)))
        }
      }
      let outcome = await task.value
      let expected: Outcome =
        switch (call, end) {
        case (_, .cancelled): .failed(.cancelled)
        case (.closed, _), (.next, .ownClose): .ended
        case (.indicate, _): .delivered(Delivered(count: 0, failures: 1))
        case (_, .ownClose): .failed(.closed)
        case (_, .timeout): .failed(.bearer(.transactionTimeout(Self.request(of: call))))
        default: .failed(.disconnected(peer: connection.peerName))
        }
      #expect(outcome == expected)
      if end == .cancelled {
        // Other calls are not affected.
        #expect(await connection.endReason == nil)
      } else {
        try await connection.waitUntilClosed()
        #expect(try await server.clients.isEmpty)
        #expect(await connection.endReason != nil)
      }
    }
  }

  static func outcome(
    of call: Call, _ connection: Connection, _ values: ReceivedValues, _ server: LocalServer,
    _ handle: AttributeHandle
  ) async -> Outcome {
    do {
      switch call {
      case .read: _ = try await connection.readOnce(3)
      case .discover: _ = try await connection.discover()
      case .writeLong: try await connection.writeLong([UInt8](repeating: 1, count: 100), to: 3)
      case .exchange: try await connection.exchangeMTU()
      case .blocked:
        let value = [UInt8](repeating: 1, count: 20)
        while true { try await connection.writeWithoutResponse(value, to: 3) }
      case .indicate: return .delivered(try await server.indicate([1], of: handle))
      case .next:
        var iterator = values.makeAsyncIterator()
        let value = try await iterator.next()
        #expect(value == nil)
      case .closed: try await connection.waitUntilClosed()
      }
      return .ended
    } catch {
      return .failed(error)
    }
  }

  static func request(of call: Call) -> Opcode {
    switch call {
    case .discover: .readByGroupTypeRequest
    case .writeLong: .prepareWriteRequest
    case .exchange: .exchangeMTURequest
    default: .readRequest
    }
  }

  /// Calls on a connection that has ended.
  @Test(arguments: Call.allCases)
  func callsAfterTheEndEndAtOnce(_ call: Call) async throws {
    try await withDeadline {
      let peer = try RawPeer()
      let server = LocalServer(Database())
      let layout = try await server.add(Bench.service)
      let connection = try await peer.connect(server: server)
      connection.close()
      connection.close()
      let values = try await connection.values()
      let outcome = await Self.outcome(
        of: call, connection, values, server, layout.characteristics[2].valueHandle)
      switch call {
      case .next, .closed: #expect(outcome == .ended)
      case .indicate: #expect(outcome == .delivered(Delivered()))
      default: #expect(outcome == .failed(.closed))
      }
    }
  }

  @Test func releasedConnectionIsClosed() async throws {
    try await withDeadline {
      let peer = try RawPeer()
      let server = LocalServer(Database())
      let layout = try await server.add(Bench.service)
      var connection: Connection? = try await peer.connect(server: server)
      let configuration = try #require(layout.characteristics[2].configurationHandle)
      peer.send([0x12, UInt8(configuration.rawValue), 0, 2, 0])
      await peer.expect([0x13])
      let handle = layout.characteristics[2].valueHandle
      async let delivered = server.indicate([1], of: handle)
      #expect(await !peer.receive().isEmpty)
      withExtendedLifetime(connection) {}
      connection = nil
      #expect(try await delivered == Delivered(count: 0, failures: 1))
      await peer.expect([])
    }
  }

  @Test func cancelledConnectEnds() async throws {
    try await withDeadline {
      let folder = TemporaryFolder()
      let full = try FullListener(folder.socket())
      let task = Task {
        await failure { try await Connection.connect(to: .unix(path: folder.socket())) }
      }
      for _ in 0..<10 { try await Loop.shared.turn() }
      task.cancel()
      #expect(await task.value == .cancelled)
      withExtendedLifetime(full) {}
    }
  }

  @Test func callsOfACancelledTaskDoNothing() async throws {
    try await withDeadline {
      let folder = TemporaryFolder()
      let peer = try RawPeer()
      let connection = try await peer.connect()
      let server = LocalServer(Database())
      let gate = Gate()
      let task = Task {
        await gate.pass()
        return [
          await failure { try await server.listen(on: .unix(path: folder.socket())) },
          await failure { try await Connection.connect(to: .unix(path: folder.socket())) },
          await failure { try await connection.readOnce(3) },
          await failure { try await connection.values() },
          await failure { try await connection.waitUntilClosed() },
          await failure { try await connection.writeWithoutResponse([], to: 3) },
          await failure { try await server.add(Bench.service) },
          await failure { try await server.notify([], of: 3) },
          await failure { try await server.indicate([], of: 3) },
          await failure { try await Loop.shared.sleep(for: .seconds(100)) },
        ]
      }
      task.cancel()
      gate.open()
      #expect(await task.value == [AttoError?](repeating: .cancelled, count: 10))
      #expect(try await connection.counters == ConnectionCounters())
      #expect(access(folder.socket(), F_OK) != 0)
    }
  }

  /// H4: handlers that end the connection.
  @Test func endsFromWithinHandlers() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let connection = try await bench.connect()
      let values = try await bench.subscribe(connection)
      let server = bench.server
      // The handler of a request ends the connection on which it came.
      server.onWriteInline(of: bench.application) { origin, _ in
        server.notifyNow(([1] as [UInt8]).span.bytes, of: bench.values)
        server.disconnect(origin.client)
        return .accepted
      }
      try await bench.settle()
      #expect(
        isDisconnected(await failure { try await connection.write([1], to: bench.application) }))
      try await connection.waitUntilClosed()
      // What was sent before the end has arrived.
      var iterator = values.makeAsyncIterator()
      #expect(try await iterator.next()?.value == [1])
      #expect(isDisconnected(await failure { try await iterator.next() }))

      // The observer of a value closes the connection that it came on.
      let other = try await bench.connect()
      other.observeValues { _, _ in other.close() }
      let unused = try await bench.subscribe(other)
      try await server.notify([2], of: bench.values)
      try await other.waitUntilClosed()
      other.observeValues(nil)
      withExtendedLifetime(unused) {}
      await bench.events.wait { events in
        events.count { if case .disconnected = $0 { true } else { false } } == 2
      }
    }
  }

  /// H4: many wait; they are cancelled in any order while responses come.
  @Test func cancellationInAnyOrder() async throws {
    try await withDeadline {
      let seed = testSeed()
      let bench = try await Bench()
      let connection = try await bench.connect()
      let tasks = (0..<200).map { _ in
        Task { await failure { try await connection.readOnce(bench.greeting) } }
      }
      var random = SplitMix64(seed: seed)
      for _ in 0..<100 {
        tasks[Int(random.next() % 200)].cancel()
        if random.next() % 4 == 0 { await Task.yield() }
      }
      for task in tasks {
        let error = await task.value
        #expect(error == nil || error == .cancelled, "seed \(seed)")
      }
      #expect(try await connection.readOnce(bench.greeting) == Bench.hello, "seed \(seed)")
    }
  }

  /// The server is told to cancel what was prepared.
  @Test func cancelledLongWriteClearsTheQueue() async throws {
    try await withDeadline {
      let peer = try RawPeer()
      let connection = try await peer.connect()
      let value = [UInt8](repeating: 7, count: 100)
      let task = Task { await failure { try await connection.writeLong(value, to: 3) } }
      let first = await peer.receive()
      #expect(first == [0x16, 3, 0, 0, 0] + value[..<18])
      peer.send([0x17] + first[1...])
      let second = await peer.receive()
      #expect(second == [0x16, 3, 0, 18, 0] + value[..<18])
      task.cancel()
      #expect(await task.value == .cancelled)
      peer.send([0x17] + second[1...])
      await peer.expect([0x18, 0])
      peer.send([0x19])
      async let read = connection.readOnce(5)
      await peer.expect([0x0A, 5, 0])
      peer.send([0x0B])
      #expect(try await read == [])
    }
  }

  @Test func rawConnectionsEnd() async throws {
    try await withDeadline {
      let peer = try RawPeer()
      let raw = try await RawConnection.connect(to: peer.endpoint)
      #expect(try await raw.receive(within: .milliseconds(5)) == nil)
      async let first = raw.receive(within: .seconds(10))
      async let second = raw.receive(within: .seconds(10))
      peer.send([1])
      peer.send([1])
      #expect(try await [first, second] == [[1], [1]])
      let cancelled = Task { await failure { try await raw.receive(within: .seconds(10)) } }
      cancelled.cancel()
      #expect(await cancelled.value == .cancelled)
      let blocked = Task {
        await failure { while true { try await raw.send([UInt8](repeating: 0, count: 100)) } }
      }
      let waiting = Task { await failure { try await raw.receive(within: .seconds(10)) } }
      for _ in 0..<10 { try await Loop.shared.turn() }
      peer.close()
      #expect(isDisconnected(await waiting.value))
      #expect(await blocked.value != nil)
    }
  }

  /// A peer that sends something and disconnects before this end writes to it.
  @Test func rawConnectionGivesWhatCameBeforeTheEnd() async throws {
    try await withDeadline {
      let peer = try RawPeer()
      let raw = try await RawConnection.connect(to: peer.endpoint)
      // All in one turn of the loop, so that writing detects the end.
      let error = await Task(executorPreference: raw.loop.tasks) {
        peer.send([1])
        peer.close()
        return await failure { try await raw.send([2]) }
      }.value
      #expect(isDisconnected(error))
      #expect(try await raw.receive(within: .seconds(60)) == [1])
      #expect(isDisconnected(await failure { try await raw.receive(within: .seconds(60)) }))
    }
  }
}
