import Atto
import AttoTesting
import TestSupport
import Testing

@Suite("Connections in memory", .timeLimit(.minutes(5)), .oneByOne)
struct PairTests {
  @Test("A client reads, writes and subscribes")
  func works() async throws {
    let thermometer = try await Thermometer()
    let connection = try await Connection.pair(server: thermometer.server)
    #expect(try await connection.readOnce(thermometer.name) == Array("attic".utf8))
    try await connection.write([1, 2, 3], to: thermometer.name)
    #expect(try await thermometer.server.value(of: thermometer.name) == [1, 2, 3])
    let values = try await connection.subscribe(
      to: thermometer.temperature.valueHandle,
      cccd: try #require(thermometer.temperature.configurationHandle))
    #expect(
      try await thermometer.server.notify([21], of: thermometer.temperature.valueHandle).count == 1)
    var iterator = values.makeAsyncIterator()
    #expect(try await iterator.next()?.value == [21])
  }

  @Test("Options of both ends are in effect")
  func options() async throws {
    let thermometer = try await Thermometer()
    var options = ConnectionOptions()
    options.exchangesMTU = true
    options.security = .medium
    var serverOptions = ConnectionOptions()
    serverOptions.receiveMTU = 100
    let connection = try await Connection.pair(
      server: thermometer.server, options: options, serverOptions: serverOptions)
    #expect(try await connection.mtu == 100)
    #expect(try await connection.security.level == .medium)
  }

  @Test("Several clients have connections of their own, up to the server's limit")
  func several() async throws {
    var limits = ServerLimits()
    limits.clients = 2
    let thermometer = try await Thermometer(limits: limits)
    let first = try await Connection.pair(server: thermometer.server)
    let second = try await Connection.pair(server: thermometer.server)
    #expect(
      await failure { try await Connection.pair(server: thermometer.server) }
        == .tooManyClients(limit: 2))
    first.close()
    try await first.waitUntilClosed()
    #expect(try await second.readOnce(thermometer.name) == Array("attic".utf8))
    _ = try await Connection.pair(server: thermometer.server)
  }

  @Test("Each end learns that the other has disconnected")
  func ends() async throws {
    let thermometer = try await Thermometer()
    let connection = try await Connection.pair(server: thermometer.server)
    thermometer.server.disconnect()
    try await connection.waitUntilClosed()
    guard case .disconnected = await connection.endReason else {
      Issue.record("\(String(describing: await connection.endReason))")
      return
    }
    #expect(try await thermometer.server.clients.isEmpty)
  }
}
