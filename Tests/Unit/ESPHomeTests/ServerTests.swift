import AttoEventLoop
import AttoGateway
import AttoLinks
import AttoRadio
import AttoTesting
import CAttoLinux
import Glibc
import TestSupport
import Testing

@testable import AttoESPHome

/// The server in virtual time, with clients on real sockets.
@Suite(.oneByOne) struct ServerTests {
  @Test func aClientThatSaysNothingIsDropped() async throws {
    let bench = try await ServerBench()
    let client = try bench.connect()
    try await bench.untilCount(1)
    await bench.clock.advance(by: .seconds(10))
    #expect(await bench.server.clients.count == 1)
    await bench.clock.advance(by: .seconds(10))
    #expect(await bench.server.clients.isEmpty)
    #expect(try client.rest() == [])
  }

  @Test func aSilentClientIsAskedAndThenDropped() async throws {
    let bench = try await ServerBench()
    let client = try bench.connect()
    client.send(octets("00 00 01"))
    #expect(try client.receive(5).prefix(1) == [0])
    try await bench.untilCount(1)
    await bench.clock.advance(by: .seconds(65))
    let asked = try client.receive(until: octets("00 00 07"))
    #expect(asked.suffix(3).elementsEqual(octets("00 00 07")))
    // An answer keeps it.
    client.send(octets("00 00 08"))
    client.send(octets("00 00 07"))
    #expect(try client.receive(3) == octets("00 00 08"))
    await bench.clock.advance(by: .seconds(100))
    #expect(await bench.server.clients.count == 1)
    await bench.clock.advance(by: .seconds(60))
    #expect(await bench.server.clients.isEmpty)
    #expect(try client.rest() == octets("00 00 07"))
  }

  @Test func aClientThatDoesNotReadIsHeldBackAndThenDropped() async throws {
    let bench = try await ServerBench()
    let client = try bench.connect()
    client.send(octets("00 00 01"))
    _ = try client.receive(5)
    let served = try #require(await bench.server.clients.values.first)
    let content = [UInt8](repeating: 7, count: 500)
    let value = AttributeReport.value(.init(address: 1, handle: 3), content)
    let sending = Task {
      for count in 0..<10_000 {
        await served.room()
        guard await served.send(value) else { return count }
      }
      return 10_000
    }
    while await served.behindSince == nil { await bench.clock.advance(by: .zero) }
    await bench.clock.advance(by: .seconds(59))
    #expect(await bench.server.clients.count == 1)
    await bench.clock.advance(by: .seconds(10))
    #expect(await bench.server.clients.isEmpty)
    // What waited for it was more than values wait behind, and less than is ever kept.
    let sent = await sending.value * 500
    #expect(ESPHomeClient.valueLimit..<ESPHomeClient.outputLimit * 2 ~= sent)
  }

  @Test func messagesBeforeHelloAreRefused() async throws {
    let bench = try await ServerBench()
    let client = try bench.connect()
    client.send(octets("00 00 09"))
    #expect(try client.rest() == [])
  }

  @Test func whatIsMalformedEndsTheClientOnly() async throws {
    let bench = try await ServerBench()
    let other = try bench.connect()
    other.send(octets("00 00 01"))
    _ = try other.receive(5)
    let client = try bench.connect()
    // A read with a text for its address; then nothing more is carried out.
    client.send(octets("00 00 01  00 02 49 0a00  00 00 07"))
    #expect(try client.rest().suffix(3).elementsEqual(octets("00 00 05")))
    other.send(octets("00 00 07"))
    _ = try other.receive(until: octets("00 00 08"))
  }

  /// A client that knows no short UUIDs, and errors of devices that are not connected.
  @Test func requestsWithoutAConnection() async throws {
    let bench = try await ServerBench()
    let client = try bench.connect()
    client.send(octets("00 02 01 1801"))
    _ = try client.receive(5)
    client.send(octets("00 04 49 0805 1003"))
    let error = octets("00 0f 52 0805 1003 18ffffffffffffffffff01")
    _ = try client.receive(until: error)
    // No answer is awaited to these: a write without a response, and the end of notifications.
    client.send(octets("00 04 4b 0805 1003  00 04 4e 0805 1003  00 00 07"))
    #expect(try client.receive(3) == octets("00 00 08"))
    client.send(octets("00 04 44 0805 1001"))
    _ = try client.receive(until: octets("00 05 45 0805 208102"))
  }

  @Test func theGatewaysEndIsToldToClients() async throws {
    let bench = try await ServerBench()
    let client = try bench.connect()
    client.send(octets("00 00 01"))
    _ = try client.receive(5)
    bench.stop()
    #expect(try client.rest().suffix(3).elementsEqual(octets("00 00 05")))
  }

  @Test func identitiesAreStableAndDiffer() {
    let hall = GatewayIdentity(name: "hall", machine: [1, 2, 3])
    #expect(hall == GatewayIdentity(name: "hall", machine: [1, 2, 3]))
    #expect(hall.address != GatewayIdentity(name: "cellar", machine: [1, 2, 3]).address)
    #expect(hall.address != GatewayIdentity(name: "hall", machine: [1, 2, 4]).address)
    // Locally administered, of one station.
    #expect(hall.address >> 40 & 3 == 2 && hall.address >> 48 == 0)
    let server = ServerIdentity(name: "hall", hall)
    #expect(server.digits.count == 12 && server.addressText.count == 17)
  }
}

/// A server without encryption on a loop in virtual time.
final class ServerBench: Sendable {
  let clock = TestClock()
  let server: ESPHomeServer
  private let place: String
  private let task: Task<Void, Never>

  init() async throws {
    var configuration = Configuration.ESPHome()
    configuration.listen = .internet(host: "127.0.0.1", port: 0)
    let (clock, air) = (clock, TestAir())
    let hub = Hub(Configuration(name: "hall"), loop: clock.loop) { (_, loop) throws(RadioError) in
      try air.adapter(loop: loop)
    }
    let server = ESPHomeServer(
      configuration, name: "hall", GatewayIdentity(name: "hall"), loop: clock.loop)
    self.server = server
    task = Task(executorPreference: clock.loop.tasks) {
      async let running: Void = hub.run()
      try? await server.run(hub)
      await running
    }
    var place: String?
    while place == nil {
      await clock.advance(by: .zero)
      place = await server.listeningPlace
    }
    self.place = try #require(place)
  }

  deinit { task.cancel() }

  func stop() { task.cancel() }

  func connect() throws -> RawClient {
    try RawClient(port: UInt16(place.split(separator: ":").last ?? "") ?? 0)
  }

  func untilCount(_ count: Int) async throws {
    while await server.clients.count != count { await clock.advance(by: .zero) }
  }
}

/// A blocking socket; it fails after 60 s.
final class RawClient {
  private let socket: Int32

  init(port: UInt16) throws {
    socket = Glibc.socket(AF_INET, CLINUX_SOCK_STREAM, 0)
    var patience = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(
      socket, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(result == 0)
  }

  deinit { close(socket) }

  func send(_ octets: [UInt8]) {
    _ = Glibc.send(socket, octets, octets.count, Int32(MSG_NOSIGNAL))
  }

  /// The next octets, at least so many.
  func receive(_ count: Int) throws -> [UInt8] {
    var received: [UInt8] = []
    while received.count < count {
      let part = try part()
      try #require(!part.isEmpty)
      received += part
    }
    return received
  }

  func receive(until end: [UInt8]) throws -> [UInt8] {
    var received: [UInt8] = []
    while received.count < end.count || !received.suffix(end.count).elementsEqual(end) {
      let part = try part()
      try #require(!part.isEmpty)
      received += part
    }
    return received
  }

  /// Everything up to the end, which must not be a reset.
  func rest() throws -> [UInt8] {
    var received: [UInt8] = []
    while true {
      let part = try part()
      if part.isEmpty { return received }
      received += part
    }
  }

  private func part() throws -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = recv(socket, &buffer, buffer.count, 0)
    try #require(count >= 0, "errno \(errno)")
    return Array(buffer.prefix(count))
  }
}
