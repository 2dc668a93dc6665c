import AttoATT
import AttoEventLoop
import AttoGATT
import AttoLinks
import AttoRadio
import AttoTesting
import TestSupport
import Testing

@testable import Atto

/// The channels between two ends of a connection in memory: what one end opens, the other accepts.
/// The loop's thread only.
final class MemoryChannels: @unchecked Sendable {
  /// How the peer answers requests, one after another; then it accepts.
  var refusals: [ChannelRefusal] = []
  /// Why no channels can be accepted, for example because the kernel has none.
  var obstacle: RadioError?
  private(set) var requests: [Int] = []
  /// The ends of the opened channels, of the end that opened them.
  private(set) var opened: [MemoryLink] = []
  var mtu = 200
  private var deliver: ((any Link) -> Void)?
  private var limit = 0

  private final class Acceptance {}

  var source: BearerSource {
    BearerSource(
      open: { [self] _, count, mtu, _, _, completion in
        requests.append(count)
        if !refusals.isEmpty {
          return completion(
            .failure(Self.refusal(refusals.removeFirst())))
        }
        var links: [any Link] = []
        for _ in 0..<min(count, limit - opened.count) { links.append(open(mtu)) }
        completion(
          links.isEmpty
            ? .failure(Self.refusal(.noResources)) : .success(links))
      },
      accept: { [self] (_, limit, mtu, _, deliver) throws(RadioError) in
        if let obstacle { throw obstacle }
        // The server is the first to accept.
        guard self.deliver == nil else { return Acceptance() }
        self.limit = limit
        self.mtu = min(self.mtu, mtu)
        self.deliver = deliver
        return Acceptance()
      })
  }

  static func refusal(_ refusal: ChannelRefusal) -> RadioError {
    .channelRefused(BluetoothAddress(1), psm: 0x27, refusal)
  }

  /// Opens one channel. Returns the end that opened it.
  @discardableResult func open(_ mtu: Int = 517) -> MemoryLink {
    let (near, far) = MemoryLink.pair()
    near.assume(.init(.medium))
    (near.enhancedMTU, far.enhancedMTU) = (min(mtu, self.mtu), min(mtu, self.mtu))
    opened.append(near)
    deliver?(far)
    return near
  }
}

private func result<Value: Sendable>(
  _ body: @Sendable () async throws(AttoError) -> Value
) async -> Result<Value, AttoError> {
  do throws(AttoError) { return .success(try await body()) } catch { return .failure(error) }
}

/// Enhanced bearers of a connection.
@Suite(.timeLimit(.minutes(5)), .oneByOne) struct BearerTests {
  /// A connection in memory to a server, with this many bearers wanted and accepted.
  private struct Bench {
    let channels = MemoryChannels()
    let server: LocalServer
    let connection: Connection
    /// The first value, and those after it.
    let handles: [AttributeHandle]

    init(
      _ wanted: Int = 3, accepted: Int = 5, features: UInt8? = 1,
      _ prepare: (MemoryChannels) -> Void = { _ in },
      configure: (inout ConnectionOptions) -> Void = { _ in }
    ) async throws {
      prepare(channels)
      server = LocalServer(Database(name: "test", serverFeatures: features))
      let layout = try await server.add(
        ServiceDefinition(
          0xA000,
          characteristics: (0..<4).map {
            CharacteristicDefinition(
              BluetoothUUID(UInt16(0xB000 + $0)), properties: [.read, .write, .notify, .indicate],
              value: .application(ValueLimits()), permissions: .readWrite)
          }))
      handles = layout.characteristics.map(\.valueHandle)
      var options = ConnectionOptions()
      options.bearerSource = channels.source
      options.enhancedBearers = accepted
      let served = options
      options.enhancedBearers = wanted
      options.exchangesMTU = true
      options.receiveMTU = 100
      configure(&options)
      let client = options
      let loop = server.loop
      let local = server
      connection = try await loop.withWaiter { (waiter: Waiter<Connection, AttoError>) in
        let (near, far) = MemoryLink.pair()
        do throws(AttoError) {
          try local.serve(far, served)
          waiter.resume(Connection.make(near, client, nil, loop))
        } catch {
          waiter.resume(.failure(error))
        }
      }
      try await connection.prepare(options)
    }

    /// Lets reads of all values wait at the server for the gate, and then have this value.
    func holdReads(_ value: [UInt8]) -> (gate: Gate, started: Log<Void>) {
      let (gate, started) = (Gate(), Log<Void>())
      for handle in handles {
        server.onRead(of: handle) { _ in
          started.append(())
          await gate.pass()
          return value
        }
      }
      return (gate, started)
    }
  }

  @Test func bearersAreOpened() async throws {
    let bench = try await Bench()
    #expect(
      try await bench.connection.bearers
        == [0, 1, 2, 3].map { Connection.BearerInformation(number: $0, mtu: 100) })
    #expect(try await bench.connection.bearerObstacle == nil)
    #expect(bench.channels.requests == [3])
    #expect(try await bench.connection.security.level == .medium)
    // The client has announced itself.
    let features = try await bench.connection.read(uuid: .clientSupportedFeatures)
    #expect(features.values.map(\.octets) == [[2]])
  }

  /// A client without room on any bearer keeps nobody waiting, also when a bearer ends meanwhile.
  @Test(arguments: [false, true]) func aClientThatDoesNotReadHoldsUpNobody(
    losesABearer: Bool
  ) async throws {
    let bench = try await Bench()
    let (server, connection, handles) = (bench.server, bench.connection, bench.handles)
    let seen = Log<(AttributeHandle, Int)>()
    connection.observeValues { seen.append(($0, number($1.owned))) }
    let other = try await server.loop.withWaiter { (waiter: Waiter<Connection, AttoError>) in
      let (near, far) = MemoryLink.pair()
      do throws(AttoError) {
        try server.serve(far, ConnectionOptions())
        waiter.resume(Connection.make(near, ConnectionOptions(), nil, server.loop))
      } catch {
        waiter.resume(.failure(error))
      }
    }
    let others = Log<Int>()
    other.observeValues { others.append(number($1.owned)) }
    for handle in handles {
      let configuration = try #require(handle.next)
      for client in [connection, other] { try await client.write([1, 0], to: configuration) }
    }
    let dropped = Log<UInt64>()
    let observation = try await server.observe {
      if case .valuesDropped(_, _, let count) = $0 { dropped.append(count) }
    }
    try await server.onLoop { _ in connection.holdBack(true) }
    for sent in 0..<16_000 {
      if losesABearer, sent == 14_000 {
        try await server.onLoop { _ in bench.channels.opened[1].close() }
      }
      let delivered = try await server.notify(counted(sent), of: handles[sent % 4])
      #expect(delivered.count >= 1)
    }
    await others.wait(count: 16_000)
    #expect(others.all == Array(0..<16_000))
    try await server.onLoop { _ in connection.holdBack(false) }
    for handle in handles {
      try await until { seen.all.last { $0.0 == handle }.map { $0.1 >= 15_996 } ?? false }
      let numbers = seen.all.filter { $0.0 == handle }.map(\.1)
      #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }, "in order")
    }
    if !losesABearer {
      #expect(UInt64(seen.count) + dropped.all.reduce(0, +) == 16_000)
    }
    #expect(dropped.all.reduce(0, +) > 0)
    #expect(try await server.notify(counted(16_000), of: handles[0]) == Delivered(count: 2))
    withExtendedLifetime(observation) {}
  }

  @Test func noneUnlessAskedFor() async throws {
    let bench = try await Bench(0)
    #expect(try await bench.connection.bearers.count == 1)
    #expect(bench.channels.requests == [])
    #expect(try await bench.connection.security.level == .low)
  }

  @Test func atMostAsManyAsThePeerAccepts() async throws {
    let bench = try await Bench(5, accepted: 2)
    #expect(try await bench.connection.bearers.count == 3)
    #expect(bench.channels.requests == [5])
  }

  /// A peer that opens more than it may.
  @Test func furtherChannelsAreClosed() async throws {
    let bench = try await Bench(2, accepted: 2)
    let channels = bench.channels
    let isClosed = try await bench.connection.onLoop { _ in
      let link = channels.open()
      var end = ReceiveOutcome.wouldBlock
      _ = [UInt8](unsafeUninitializedCapacity: 1) { bytes, count in
        var out = OutputRawSpan(buffer: UnsafeMutableRawBufferPointer(bytes), initializedCount: 0)
        end = (try? link.receive(into: &out)) ?? .wouldBlock
        count = 0
      }
      return end == .closed
    }
    #expect(isClosed)
    #expect(try await bench.connection.bearers.count == 3)
  }

  @Test(arguments: [nil, 0] as [UInt8?])
  func aServerThatDoesNotOfferThem(_ features: UInt8?) async throws {
    let bench = try await Bench(accepted: 0, features: features)
    #expect(try await bench.connection.bearerObstacle == .notOffered)
    #expect(try await bench.connection.bearers.count == 1)
    #expect(bench.channels.requests == [])
    // Nothing was paired for it.
    #expect(try await bench.connection.security.level == .low)
  }

  /// Vol 3, Part G, 5.4: one more attempt, and no other.
  @Test(arguments: [1, 2]) func aRefusalIsRetriedOnce(_ refusals: Int) async throws {
    let bench = try await Bench(3) {
      $0.refusals = Array(repeating: ChannelRefusal.noResources, count: refusals)
    }
    #expect(bench.channels.requests == [3, 3])
    #expect(try await bench.connection.bearers.count == (refusals == 1 ? 4 : 1))
    let obstacle = try await bench.connection.bearerObstacle
    #expect(obstacle == (refusals == 1 ? nil : .radio(MemoryChannels.refusal(.noResources))))
  }

  /// A server sets the bit where its database has the characteristic.
  @Test func aServerSaysThatItAcceptsThem() async throws {
    let bench = try await Bench(features: 0)
    #expect(try await bench.connection.bearers.count == 4)
  }

  @Test func aServerThatCannotAcceptThemDoesNotOfferThem() async throws {
    let bench = try await Bench(features: 0) { $0.obstacle = .unsupported("channels") }
    #expect(try await bench.connection.bearerObstacle == .notOffered)
    #expect(bench.channels.requests == [])
  }

  @Test func otherRefusalsAreNotRetried() async throws {
    let bench = try await Bench(3) { $0.refusals = [.unknownPSM] }
    #expect(bench.channels.requests == [3])
    let obstacle = try await bench.connection.bearerObstacle
    #expect(obstacle == .radio(MemoryChannels.refusal(.unknownPSM)))
  }

  /// Slow reads run at the same time, each on its bearer.
  @Test func readsRunInParallel() async throws {
    let bench = try await Bench(3)
    let (gate, started) = (Gate(), Log<AttributeHandle>())
    for handle in bench.handles {
      bench.server.onRead(of: handle) { context in
        started.append(context.handle)
        await gate.pass()
        return [UInt8(truncatingIfNeeded: context.handle.rawValue)]
      }
    }
    let connection = bench.connection
    let handles = bench.handles
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for handle in handles {
        group.addTask {
          try await connection.readOnce(handle) == [UInt8(truncatingIfNeeded: handle.rawValue)]
        }
      }
      // All four are at the server before any is answered.
      await started.wait(count: 4)
      gate.open()
      for try await isRight in group { #expect(isRight) }
    }
    #expect(Set(started.all) == Set(handles))
  }

  /// One bearer ends: its procedure fails, the others continue, and nothing is opened again.
  @Test func oneBearerEnds() async throws {
    let bench = try await Bench(2)
    let (gate, started) = bench.holdReads([7])
    let connection = bench.connection
    let (one, other) = (bench.handles[0], bench.handles[1])
    async let first = result { () throws(AttoError) in try await connection.readOnce(one) }
    await started.wait(count: 1)
    async let second = result { () throws(AttoError) in try await connection.readOnce(other) }
    await started.wait(count: 2)
    let channels = bench.channels
    try await connection.onLoop { _ in channels.opened[0].close() }
    try await until { try await connection.bearers.map(\.number) == [0, 2] }
    gate.open()
    let succeeded = await second
    #expect(succeeded == .success([7]))
    let failed = await first
    #expect(failed == .failure(.enhancedBearer(.channelEnded)))
    #expect(try await connection.readOnce(bench.handles[2]) == [7])
    #expect(bench.channels.requests == [2])
    #expect(await connection.endReason == nil)
  }

  /// Channels end at any time: procedures fail with theirs, and nothing is opened again.
  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func channelsEndAtAnyTime(_ seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let bench = try await Bench(5)
    for handle in bench.handles { bench.server.onRead(of: handle) { _ in [1] } }
    let (connection, channels) = (bench.connection, bench.channels)
    var reads: [Task<Result<[UInt8], AttoError>, Never>] = []
    for channel in (0..<5).shuffled(using: &random) {
      for _ in 0..<random.below(8) {
        let handle = bench.handles[random.below(4)]
        reads.append(
          Task { await result { () throws(AttoError) in try await connection.readOnce(handle) } })
      }
      for _ in 0..<random.below(6) { await Task.yield() }
      try await connection.onLoop { _ in channels.opened[channel].close() }
    }
    for read in reads {
      let result = await read.value
      #expect(result == .success([1]) || result == .failure(.enhancedBearer(.channelEnded)))
    }
    try await until { try await connection.bearers.count == 1 }
    #expect(channels.requests == [5])
    #expect(try await connection.readOnce(bench.handles[0]) == [1])
    #expect(await connection.endReason == nil)
  }

  /// Values arrive in the order of each characteristic, whatever the bearer.
  @Test func valuesKeepTheirOrder() async throws {
    let bench = try await Bench(3)
    for handle in bench.handles {
      bench.server.onWrite(of: handle) { _ in }
    }
    let received = Log<(AttributeHandle, UInt8)>()
    bench.connection.observeValues { handle, value in
      received.append((handle, value.withUnsafeBytes { $0.first ?? 0 }))
    }
    for handle in bench.handles {
      let descriptor = try #require(handle.next)
      try await bench.connection.write([1, 0], to: descriptor)
    }
    for number in 0..<100 as Range<UInt8> {
      for handle in bench.handles { try await bench.server.notify([number], of: handle) }
    }
    await received.wait(count: 400)
    for handle in bench.handles {
      #expect(received.all.filter { $0.0 == handle }.map(\.1) == Array(0..<100))
    }
    let client = try #require(try await bench.server.clients.first)
    let used = try await bench.server.onLoop { core in
      core.connection(client)?.bearers?.all.map { $0.session.number }
    }
    #expect(used == [0, 1, 2, 3])
  }

  /// Indications of several characteristics, one on each bearer, and the end of one of them.
  @Test func indications() async throws {
    let bench = try await Bench(2)
    for handle in bench.handles {
      let descriptor = try #require(handle.next)
      try await bench.connection.write([2, 0], to: descriptor)
    }
    for handle in bench.handles {
      let delivered = try await bench.server.indicate([1], of: handle)
      #expect(delivered == Delivered(count: 1))
    }
  }

  @Test func theConnectionEndsWithAllBearers() async throws {
    let bench = try await Bench(2)
    let (gate, started) = bench.holdReads([])
    let connection = bench.connection
    let (one, other) = (bench.handles[0], bench.handles[1])
    async let first = result { () throws(AttoError) in try await connection.readOnce(one) }
    async let second = result { () throws(AttoError) in try await connection.readOnce(other) }
    await started.wait(count: 2)
    bench.server.disconnect()
    let results = await [first, second]
    #expect(results.allSatisfy { (try? $0.get()) == nil })
    #expect(Set(results.map { "\($0)" }).count == 1)
    try await connection.waitUntilClosed()
    #expect(try await connection.bearers.map(\.number) == [0])
    gate.open()
  }

  /// A write command that finds one bearer full waits for room, and none is lost.
  @Test func commandsWaitForRoom() async throws {
    let bench = try await Bench(2)
    let written = Log<UInt8>()
    for handle in bench.handles {
      bench.server.onWriteInline(of: handle) { _, value in
        written.append(value.withUnsafeBytes { $0.first ?? 0 })
        return .accepted
      }
    }
    for number in 0..<200 as Range<UInt8> {
      try await bench.connection.writeWithoutResponse([number], to: bench.handles[1])
    }
    await written.wait(count: 200)
    #expect(written.all == Array(0..<200))
  }
}
