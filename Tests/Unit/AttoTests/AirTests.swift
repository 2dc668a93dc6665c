import AttoTesting
import TestSupport
import Testing

@testable import Atto

@Suite(.oneByOne) struct AirTests {
  private func strap() -> AdvertisingParameters {
    AdvertisingParameters(AdvertisingData(serviceUUIDs: [0x180D], localName: "Strap"))
  }

  @Test func connectsAndRaisesSecurity() async throws {
    try await withDeadline {
      let air = TemporaryFolder()
      let server = LocalServer(Database(), loop: serverLoop)
      let layout = try await server.add(Bench.service)
      let radio = try Adapter.virtual(name: "Strap", folder: air.path, loop: serverLoop)
      let listener = try await server.advertise(
        on: radio, options: ListenOptions(advertising: strap()))
      #expect(listener.endpoint == "air:\(radio.address)")
      let central = try Adapter.virtual(folder: air.path, loop: .shared)
      let connection = try await Connection.connect(to: .air("Strap"), adapter: central)
      let encrypted = layout.characteristics[5].valueHandle
      #expect(
        await failure { try await connection.readOnce(encrypted) }
          == .refused(
            ErrorResponse(
              request: .readRequest, handle: encrypted, code: .insufficientEncryption)))
      try await connection.raiseSecurity(to: .medium)
      #expect(try await connection.security.level == .medium)
      #expect(try await connection.readOnce(encrypted) == [5])

      // From the beginning, by options.
      connection.close()
      try await until { try await server.clients.isEmpty }
      var options = ConnectionOptions()
      options.security = .medium
      options.exchangesMTU = true
      let other = try await Connection.connect(
        to: .air("Strap"), options: options, adapter: central)
      #expect(try await other.readOnce(encrypted) == [5])
      #expect(try await other.mtu == 517)
      let values = try await other.subscribe(
        to: layout.characteristics[2].valueHandle,
        cccd: try #require(layout.characteristics[2].configurationHandle))
      try await server.notify([1, 2, 3], of: layout.characteristics[2].valueHandle)
      var iterator = values.makeAsyncIterator()
      #expect(try await iterator.next()?.value == [1, 2, 3])
      server.disconnect()
      try await other.waitUntilClosed()
      #expect(isDisconnected(await other.endReason))
      // The other end has closed.
      listener.stop()
      options.connectTimeout = .milliseconds(50)
      let late = await failure {
        try await Connection.connect(to: .air("Strap"), options: options, adapter: central)
      }
      guard case .radio = late else {
        Issue.record("\(late as Any)")
        return
      }
    }
  }

  /// A level that the peer's radio does not support.
  @Test func securityOutOfReachEnds() async throws {
    try await withDeadline {
      let clock = TestClock()
      let air = TestAir()
      let server = LocalServer(Database(), loop: clock.loop)
      let radio = try air.adapter(named: "Open", maximumSecurity: .low, loop: clock.loop)
      let listener = try await server.advertise(
        on: radio, options: ListenOptions(advertising: strap()))
      let central = try air.adapter(loop: clock.loop)
      let connection = try await Connection.connect(to: .air("Open"), adapter: central)
      for _ in 0..<3 {
        let raise = Task(executorPreference: clock.loop.tasks) {
          await failure { try await connection.raiseSecurity(to: .high) }
        }
        await clock.advance(by: .seconds(30))
        #expect(await raise.value != nil)
      }
      #expect(try await connection.onLoop { $0.raising.waiters.isEmpty })
      withExtendedLifetime(listener) {}
    }
  }

  @Test func severalCentrals() async throws {
    try await withDeadline {
      let air = TemporaryFolder()
      let server = LocalServer(Database(), loop: serverLoop)
      let layout = try await server.add(Bench.service)
      let radio = try Adapter.virtual(name: "Strap", folder: air.path, loop: serverLoop)
      let listener = try await server.advertise(
        on: radio, options: ListenOptions(advertising: strap()))
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<8 {
          group.addTask {
            let central = try Adapter.virtual(folder: air.path, loop: .shared)
            for _ in 0..<5 {
              let connection = try await Connection.connect(to: .air("Strap"), adapter: central)
              #expect(
                try await connection.readOnce(layout.characteristics[0].valueHandle) == Bench.hello)
              connection.close()
            }
          }
        }
        try await group.waitForAll()
      }
      try await until { try await server.clients.isEmpty }
      withExtendedLifetime(listener) {}
    }
  }

  /// Cancelled while it looks for an absent radio.
  @Test func cancelledConnectEnds() async throws {
    try await withDeadline {
      let air = TemporaryFolder()
      let central = try Adapter.virtual(folder: air.path, loop: .shared)
      let task = Task {
        await failure { try await Connection.connect(to: .air("Nobody"), adapter: central) }
      }
      for _ in 0..<10 { try await Loop.shared.turn() }
      task.cancel()
      #expect([.cancelled, .radio(.cancelled)].contains(await task.value))
    }
  }
}
