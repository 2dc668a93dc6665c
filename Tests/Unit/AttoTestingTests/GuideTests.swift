import Atto
import AttoTesting
import TestSupport
import Testing

/// The program under test: stays connected, and pauses before it connects again.
func keepConnected(to endpoint: Endpoint, _ adapter: Adapter) async throws {
  while true {
    do {
      let connection = try await Connection.connect(to: endpoint, adapter: adapter)
      try await connection.waitUntilClosed()
    } catch AttoError.cancelled {
      return
    } catch {
      print(error)
    }
    try await adapter.loop.sleep(for: .seconds(30))
  }
}

/// The program under test: a server with a setting of at most 4 octets.
func addSetting(to server: LocalServer) async throws -> AttributeHandle {
  let layout = try await server.add(
    ServiceDefinition(
      0x1234,
      characteristics: [
        CharacteristicDefinition(
          0x2B00, properties: [.read, .write], value: .application(ValueLimits()))
      ]))
  let handle = layout[0x2B00].valueHandle
  server.onRead(of: handle) { _ in [1] }
  server.onWriteValue(of: handle) { (_, value) throws(ErrorCode) in
    if value.count > 4 { throw .invalidAttributeValueLength }
  }
  return handle
}

@Suite(.timeLimit(.minutes(1)), .oneByOne)
struct MyTests {
  let clock = TestClock()

  @Test func connectsAgainAfterAPause() async throws {
    let air = TestAir()
    let strap = LocalServer(loop: clock.loop)
    let listener = try await strap.advertise(
      on: try air.adapter(named: "Strap", loop: clock.loop),
      options: ListenOptions(advertising: AdvertisingData(localName: "Strap")))
    let central = try air.adapter(loop: clock.loop)
    let program = Task(executorPreference: clock.loop.tasks) {
      try await keepConnected(to: try Endpoint("air:Strap"), central)
    }
    await clock.advance(by: .zero)
    #expect(try await strap.clients.count == 1)

    strap.disconnect()
    await clock.advance(by: .seconds(29))
    #expect(try await strap.clients.isEmpty)
    await clock.advance(by: .seconds(1))
    #expect(try await strap.clients.count == 1)
    program.cancel()
    listener.stop()
  }

  @Test func theHandlerRefusesLongValues() async throws {
    let server = LocalServer(loop: clock.loop)
    let setting = try await addSetting(to: server)
    let client = try await Connection.pair(server: server)
    #expect(try await client.readOnce(setting) == [1])
    try await client.write([1, 2, 3, 4], to: setting)
    await #expect(throws: AttoError.self) {
      try await client.write([1, 2, 3, 4, 5], to: setting)
    }
  }

  @Test func aPeerThatNeverAnswers() async throws {
    let (client, peer) = try await Connection.pair(
      script: """
        # receives a request and keeps silent
        > 0a 03 00
        silence 29s
        """, loop: clock.loop)
    let reading = Task(executorPreference: clock.loop.tasks) { try await client.readOnce(0x0003) }
    await clock.advance(by: .seconds(30))
    await #expect(throws: AttoError.bearer(.transactionTimeout(.readRequest))) {
      try await reading.value
    }
    try await peer.finished()
  }
}
