import Atto
import AttoATT
import AttoEventLoop
import AttoTesting
import Glibc
import TestSupport
import Testing

@testable import AttoGateway

@Suite("The Unix sockets of devices", .timeLimit(.minutes(5)), .oneByOne)
struct LocalEndpointTests {
  @Test func programsShareTheLink() async throws {
    let air = TestAir()
    let strap = try await Strap(air, name: "Strap")
    let gateway = try await TestGateway(air) { configuration in
      configuration.devices = [HubTests.named("Strap")]
      configuration.endpoints = air.path
      configuration.limits.clients = 2
    }
    let use = await (try gateway.hub.device(named: "strap")).use(as: "test")
    try await use.connected(within: .seconds(60))
    let path = "\(air.path)/strap.att"
    let a = try await Self.connect(path)
    let b = try await Self.connect(path)
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)

    let database = try await a.discover()
    let wanted = try await use.database()
    #expect(database.services == wanted.services)
    try await a.write([1, 2, 3], to: strap.point)
    #expect(try await b.readOnce(strap.point) == [1, 2, 3])
    let long = [UInt8](repeating: 5, count: 300)
    try await b.writeLong(long, to: strap.point)
    #expect(try await a.readLong(strap.point) == long)

    let rate = try #require(database.characteristic(.heartRateMeasurement))
    let values = try await a.subscribe(to: rate)
    while try await !strap.server.hasSubscribers(to: strap.rate) { await Task.yield() }
    try await strap.notify([0, 61])
    var iterator = values.makeAsyncIterator()
    #expect(try await iterator.next()?.value == [0, 61])
    #expect(try await strap.server.clients.count == 1)
    try await a.unsubscribe(from: rate)
    while try await strap.server.hasSubscribers(to: strap.rate) { await Task.yield() }

    // Without a link there is no socket.
    strap.leave()
    try await a.waitUntilClosed()
    try await b.waitUntilClosed()
    await gateway.stop()
    #expect(access(path, F_OK) != 0)
  }

  /// One program does not read. It loses the oldest values, which are counted, and the other one loses none.
  @Test func aProgramThatDoesNotReadLosesValues() async throws {
    let air = TestAir()
    let strap = try await Strap(air, name: "Strap")
    let gateway = try await TestGateway(air) { configuration in
      configuration.devices = [HubTests.named("Strap")]
      configuration.endpoints = air.path
    }
    let use = await (try gateway.hub.device(named: "strap")).use(as: "test")
    try await use.connected(within: .seconds(60))
    let path = "\(air.path)/strap.att"
    let (a, b) = (try await Self.connect(path), try await Self.connect(path))
    let rate = try #require(try await a.discover().characteristic(.heartRateMeasurement))
    let idle = try await a.subscribe(to: rate)
    let busy = try await b.subscribe(to: rate)
    while try await !strap.server.hasSubscribers(to: strap.rate) { await Task.yield() }
    let count = 2 * Device.eventLimit
    var received: [Int] = []
    var values = busy.makeAsyncIterator()
    while received.count < count {
      for number in received.count..<received.count + 128 {
        try await strap.notify([UInt8(number >> 8), UInt8(number & 0xFF)])
      }
      for _ in 0..<128 {
        guard let value = try await values.next() else {
          Issue.record("the link has ended")
          return
        }
        received.append(Self.number(value.value))
      }
    }
    #expect(received == Array(0..<count))
    let dropped = Int(await (try gateway.hub.device(named: "strap")).counters.dropped)
    #expect(dropped > 0)
    received = []
    for try await value in idle {
      received.append(Self.number(value.value))
      if received.count == count - dropped { break }
    }
    #expect(zip(received, received.dropFirst()).allSatisfy { $0 < $1 })
    #expect(Array(received.suffix(100)) == Array(count - 100..<count))
    await gateway.stop()
  }

  private static func number(_ value: [UInt8]) -> Int { Int(value[0]) << 8 | Int(value[1]) }

  /// Connects as soon as the socket is there.
  private static func connect(_ path: String) async throws -> Connection {
    while access(path, F_OK) != 0 { await Task.yield() }
    var options = ConnectionOptions()
    options.exchangesMTU = true
    return try await Connection.connect(to: .unix(path: path), options: options)
  }
}
