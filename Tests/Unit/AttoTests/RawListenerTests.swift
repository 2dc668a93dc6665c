import Synchronization
import TestSupport
import Testing

@testable import Atto

/// Accepting raw connections.
@Suite(.oneByOne) struct RawListenerTests {
  @Test func acceptsClientsInOrder() async throws {
    try await withDeadline {
      let folder = TemporaryFolder()
      let place = try Endpoint("unix:" + folder.socket())
      let listener = try await RawListener.listen(on: place)
      #expect(listener.endpoint == place.description)
      for number: UInt8 in 1...3 {
        let client = try await RawConnection.connect(to: place)
        let taken = try #require(try await listener.accept(within: .seconds(10)))
        try await client.send([number])
        #expect(try await taken.receive(within: .seconds(10)) == [number])
        try await taken.send([number, number])
        #expect(try await client.receive(within: .seconds(10)) == [number, number])
        client.close()
        await #expect(throws: AttoError.self) { try await taken.receive(within: .seconds(10)) }
      }
    }
  }

  @Test func aWaitingCallerGetsTheNextClient() async throws {
    try await withDeadline {
      let folder = TemporaryFolder()
      let place = try Endpoint("unix:" + folder.socket())
      let listener = try await RawListener.listen(on: place)
      async let taken = listener.accept(within: .seconds(10))
      let client = try await RawConnection.connect(to: place)
      #expect(try await taken != nil)
      client.close()
    }
  }

  /// Timers and signals need turns of the loop too, however many PDUs are there.
  @Test func aReaderOfManyPDUsLeavesOthersTheirTurn() async throws {
    try await withDeadline {
      let folder = TemporaryFolder()
      let place = try Endpoint("unix:" + folder.socket())
      let listener = try await RawListener.listen(on: place)
      let client = try await RawConnection.connect(to: place)
      let taken = try #require(try await listener.accept(within: .seconds(10)))
      for number: UInt8 in 0..<150 { try await client.send([0x1B, number]) }
      try await taken.loop.turn()
      let hasTurned = Mutex(false)
      let reading = Task(executorPreference: taken.loop.tasks) { () async throws -> Bool in
        taken.loop.execute { hasTurned.withLock { $0 = true } }
        for number: UInt8 in 0..<150 {
          let pdu = try await taken.receive(within: .seconds(10))
          #expect(pdu == [0x1B, number])
        }
        return hasTurned.withLock { $0 }
      }
      #expect(try await reading.value)
      withExtendedLifetime(client) {}
    }
  }

  @Test func nobodyComes() async throws {
    try await withDeadline {
      let folder = TemporaryFolder()
      let listener = try await RawListener.listen(on: try Endpoint("unix:" + folder.socket()))
      #expect(try await listener.accept(within: .milliseconds(20)) == nil)
    }
  }

  @Test func whoWaitsCanBeCancelled() async throws {
    try await withDeadline {
      let folder = TemporaryFolder()
      let listener = try await RawListener.listen(on: try Endpoint("unix:" + folder.socket()))
      let waiting = Task { try await listener.accept(within: .seconds(60)) }
      waiting.cancel()
      await #expect(throws: AttoError.cancelled) { try await waiting.value }
    }
  }

  /// Links that nobody asks for are bounded.
  @Test func closesLinksThatNobodyTakes() async throws {
    try await withDeadline {
      let folder = TemporaryFolder()
      let place = try Endpoint("unix:" + folder.socket())
      let listener = try await RawListener.listen(on: place)
      var clients: [RawConnection] = []
      for _ in 0...RawListener.waitingLimit { clients.append(try await .connect(to: place)) }
      // The last one ends, and the others are there in their order.
      await #expect(throws: AttoError.self) {
        try await clients.last?.receive(within: .seconds(10))
      }
      for (number, client) in clients.dropLast().enumerated() {
        let taken = try #require(try await listener.accept(within: .seconds(10)))
        try await client.send([0x1B, UInt8(number)])
        #expect(try await taken.receive(within: .seconds(10)) == [0x1B, UInt8(number)])
      }
    }
  }

  @Test(arguments: ["le:AA:BB:CC:DD:EE:FF", "air:Strap?phy=2M"])
  func someEndpointsAreNotForListening(_ text: String) async throws {
    let place = try Endpoint(text)
    let error = await #expect(throws: AttoError.self) {
      _ = try await RawListener.listen(on: place)
    }
    guard case .endpoint? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }
}
