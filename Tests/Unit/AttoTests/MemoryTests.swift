import AttoEventLoop
import AttoLinks
import Synchronization
import TestSupport
import Testing

@testable import Atto

/// A server with a memory of bonded clients.
@Suite(.timeLimit(.minutes(5)), .oneByOne) struct MemoryTests {
  static let addresses = LinkAddresses(own: BluetoothAddress(1), peer: BluetoothAddress(2))

  /// A memory whose records the tests inspect. Clients with an entry are bonded.
  final class Memory: ClientMemory {
    struct State {
      var bonds: [LinkAddresses: RememberedClient] = [:]
      var records: [ClientRecord] = []
      var counters: [UInt32] = []
      var refusesCounters = false
      /// Completions that wait, while ``isSlow``.
      var waiting: [@Sendable () -> Void] = []
      var isSlow = false
    }
    let state = Mutex(State())

    func bond(_ remembered: RememberedClient = RememberedClient(record: nil)) {
      state.withLock { $0.bonds[MemoryTests.addresses] = remembered }
    }

    var records: [ClientRecord] { state.withLock { $0.records } }
    var counters: [UInt32] { state.withLock { $0.counters } }

    /// Lets completions wait until ``answer()``.
    func slowDown() { state.withLock { $0.isSlow = true } }

    /// Returns when another completion waits.
    ///
    /// Asking again and again would contend for the lock, whose slow path is in a library that
    /// ThreadSanitizer does not see.
    func completionWaits() async {
      for await _ in began.stream { return }
    }

    private let began = AsyncStream<Void>.makeStream()

    /// Calls the completions that wait.
    func answer() {
      let waiting = state.withLock { state in
        defer { state.waiting = [] }
        return state.waiting
      }
      for completion in waiting { completion() }
    }

    private func complete(_ completion: @escaping @Sendable () -> Void) {
      let isSlow = state.withLock { state in
        if state.isSlow { state.waiting.append(completion) }
        return state.isSlow
      }
      if isSlow { began.continuation.yield() } else { completion() }
    }

    func recall(
      _ addresses: LinkAddresses, _ completion: @escaping @Sendable (RememberedClient?) -> Void
    ) {
      let remembered = state.withLock { $0.bonds[addresses] }
      complete { completion(remembered) }
    }

    func remember(
      _ record: ClientRecord, of addresses: LinkAddresses,
      _ completion: @escaping @Sendable () -> Void
    ) {
      state.withLock {
        guard $0.bonds[addresses] != nil else { return }
        $0.bonds[addresses]?.record = record
        $0.records.append(record)
      }
      complete(completion)
    }

    func accept(
      signCounter: UInt32, of addresses: LinkAddresses,
      _ completion: @escaping @Sendable (Bool) -> Void
    ) {
      let isAccepted = state.withLock {
        guard !$0.refusesCounters else { return false }
        $0.counters.append(signCounter)
        return true
      }
      complete { completion(isAccepted) }
    }
  }

  /// A link in memory with addresses.
  final class RadioLink: AddressedLink {
    private let link: MemoryLink
    let addresses: LinkAddresses? = MemoryTests.addresses

    init(_ link: MemoryLink) { self.link = link }

    var descriptor: Int32? { nil }
    var peerName: String { "the peer" }
    var security: LinkSecurity { link.security }
    var observer: (any LinkObserver)? {
      get { link.observer }
      set { link.observer = newValue }
    }
    func send(_ pdu: RawSpan) throws(LinkError) -> SendOutcome { try link.send(pdu) }
    func receive(into buffer: inout OutputRawSpan) throws(LinkError) -> ReceiveOutcome {
      try link.receive(into: &buffer)
    }
    func close() { link.close() }
    func raiseSecurity(to level: SecurityLevel) throws(LinkError) {
      try link.raiseSecurity(to: level)
    }
  }

  struct Bench {
    let server: LocalServer
    let value: AttributeHandle
    let configuration: AttributeHandle

    init(_ memory: Memory, _ services: [ServiceDefinition] = []) async throws {
      server = LocalServer(Database(), memory: memory)
      try await server.add(
        ServiceDefinition(
          0x1801,
          characteristics: [
            CharacteristicDefinition(0x2A05, properties: .indicate, value: .stored([]))
          ]))
      let layout = try await server.add(
        ServiceDefinition(
          0x180D, handle: 0x10,
          characteristics: [
            CharacteristicDefinition(
              0x2A37, properties: [.read, .notify, .authenticatedSignedWrites],
              value: .stored([0]))
          ]))
      for service in services { try await server.add(service) }
      value = layout.characteristics[0].valueHandle
      configuration = try #require(layout.characteristics[0].configurationHandle)
    }

    /// A client's connection to the server.
    func connect(_ level: SecurityLevel = .medium) async throws -> Connection {
      let server = server
      let client = try await server.loop.withWaiter {
        (waiter: Waiter<Connection, AttoError>) in
        let (own, other) = MemoryLink.pair()
        do throws(AttoError) {
          _ = try server.attach(RadioLink(own), ConnectionOptions())
        } catch {
          return waiter.resume(.failure(error))
        }
        waiter.resume(
          Connection.make(other, ConnectionOptions(), nil, server.loop))
      }
      if level > .low { try await client.raiseSecurity(to: level) }
      return client
    }

    var hash: [UInt8] {
      get async throws { try await server.onLoop { $0.server.databaseHash() } }
    }
  }

  @Test func aSubscriptionIsStoredBeforeTheResponse() async throws {
    let memory = Memory()
    memory.bond()
    let bench = try await Bench(memory)
    let first = try await bench.connect()
    try await first.write([1, 0], to: bench.configuration)
    // Without waiting, because the response has arrived.
    let record = try #require(memory.records.last)
    #expect(record.configurations == [bench.configuration: .notification])
    #expect(record.databaseHash == (try await bench.hash))
    first.close()
    try await withDeadline { try await until { try await bench.server.clients.isEmpty } }

    let second = try await bench.connect(.low)
    let values = try await second.values(of: bench.value)
    try await bench.server.notify([7], of: bench.value)
    var iterator = values.makeAsyncIterator()
    #expect(try await iterator.next()?.value == [7])
    #expect(memory.records.last == record)
    second.close()
  }

  /// A client on an unencrypted link cannot change the record of a bonded client.
  @Test func nothingIsStoredFromUnencryptedLinks() async throws {
    let memory = Memory()
    memory.bond()
    let bench = try await Bench(memory)
    let client = try await bench.connect(.low)
    try await client.write([1, 0], to: bench.configuration)
    #expect(memory.records.isEmpty)
    // After it has proved that it has the key, its earlier changes count too.
    try await client.raiseSecurity(to: .medium)
    _ = try await client.readOnce(bench.value)
    try await withDeadline { try await until { !memory.records.isEmpty } }
    #expect(memory.records.last?.configurations == [bench.configuration: .notification])
    client.close()
  }

  @Test func thePeerOfAClient() async throws {
    let memory = Memory()
    let bench = try await Bench(memory)
    let connection = try await bench.connect(.low)
    let client = try #require(try await bench.server.clients.first)
    var peer = try #require(try await bench.server.peer(of: client))
    #expect(peer.name == "the peer" && peer.address == BluetoothAddress(2))
    #expect(!peer.isBonded && peer.security.level == .low && peer.process == nil)
    memory.bond()
    bench.server.bondsChanged()
    try await connection.raiseSecurity(to: .high)
    peer = try #require(try await bench.server.peer(of: client))
    #expect(peer.isBonded && peer.security.level == .high)
    connection.close()
    try await withDeadline { try await until { try await bench.server.clients.isEmpty } }
    let second = try await bench.connect()
    let again = try #require(try await bench.server.clients.first)
    #expect(try await bench.server.peer(of: again)?.isBonded == true)
    second.close()
  }

  @Test func aNewBondGetsTheRecord() async throws {
    let memory = Memory()
    let bench = try await Bench(memory)
    let client = try await bench.connect()
    try await client.write([1, 0], to: bench.configuration)
    #expect(memory.records.isEmpty)
    memory.bond(RememberedClient(record: nil, signingKey: Array(0..<16), signCounter: 9))
    bench.server.bondsChanged()
    _ = try await bench.server.clients
    #expect(memory.records.last?.configurations == [bench.configuration: .notification])
    #expect(try await bench.server.onLoop { $0.server.clients.first?.signCounter } == 9)
    client.close()
  }

  /// Commands have no response: many of them are stored as one record.
  @Test func manyCommandsAreOneRecord() async throws {
    let memory = Memory()
    memory.bond()
    let bench = try await Bench(memory)
    let client = try await bench.connect()
    _ = try await client.readOnce(bench.value)
    let before = memory.records.count
    let start = ContinuousClock.now
    for number in 0..<101 {
      try await client.writeWithoutResponse([UInt8((number + 1) % 2), 0], to: bench.configuration)
    }
    client.close()
    try await withDeadline {
      try await until {
        memory.records.last?.configurations == [bench.configuration: .notification]
      }
    }
    // One for each delay, however slow the machine is, and one at the end.
    let times = (ContinuousClock.now - start) / ClientRecorder.commandDelay
    #expect(Double(memory.records.count - before) <= times + 1)
  }

  /// A database that has changed while the client was away.
  @Test func aServiceThatHasChangedForgetsItsConfigurations() async throws {
    let memory = Memory()
    memory.bond()
    let bench = try await Bench(memory)
    let first = try await bench.connect()
    try await first.write([1, 0], to: bench.configuration)
    try await first.write([2, 0], to: AttributeHandle(4))
    first.close()
    let record = try #require(memory.records.last)
    #expect(record.configurations.count == 2)

    // Another service was added: configurations of unchanged services hold, and the client is told.
    let grown = try await Bench(
      memory, [ServiceDefinition(0x180F, handle: 0x30, characteristics: [])])
    let second = try await grown.connect()
    #expect(try await second.readOnce(bench.configuration) == [1, 0])
    // Service Changed is sent and confirmed automatically. Then the client is aware.
    let hash = try await grown.hash
    try await withDeadline {
      try await until { try await second.counters.unclaimedValues == 1 }
      try await until { memory.records.last?.databaseHash == hash }
    }
    #expect(memory.records.last?.configurations == record.configurations)
    second.close()

    // The service was replaced: only the configuration of Service Changed is left.
    let moved = LocalServer(Database(), memory: memory)
    try await moved.add(
      ServiceDefinition(
        0x1801,
        characteristics: [
          CharacteristicDefinition(0x2A05, properties: .indicate, value: .stored([]))
        ]))
    try await moved.add(
      ServiceDefinition(
        0x1810, handle: 0x10,
        characteristics: [
          CharacteristicDefinition(0x2A35, properties: .notify, value: .stored([]))
        ]))
    let configurations = try await moved.onLoop { core in
      let client = core.server.connect(record: record)
      return client.map { core.server.record(of: $0).configurations }
    }
    #expect(configurations == [AttributeHandle(4): .indication])
  }

  @Test func theCounterOfASignedWriteIsStoredBeforeItsEffect() async throws {
    let memory = Memory()
    let key = [UInt8](0..<16)
    memory.bond(RememberedClient(record: nil, signingKey: key, signCounter: 5))
    let bench = try await Bench(memory)
    let client = try await bench.connect(.low)
    try await client.writeSigned([1], to: bench.value, counter: 4, key: key)
    try await client.writeSigned([2], to: bench.value, counter: 5, key: key)
    #expect(try await client.readOnce(bench.value) == [2])
    #expect(memory.counters == [6])
    // A write whose counter cannot be stored has no effect, and may be repeated.
    memory.state.withLock { $0.refusesCounters = true }
    try await client.writeSigned([3], to: bench.value, counter: 6, key: key)
    #expect(try await client.readOnce(bench.value) == [2])
    memory.state.withLock { $0.refusesCounters = false }
    try await client.writeSigned([4], to: bench.value, counter: 6, key: key)
    #expect(try await client.readOnce(bench.value) == [4])
    #expect(memory.counters == [6, 7])
    client.close()
  }

  /// While a record is being stored, its client gets no response, and other clients do.
  @Test func aSlowMemoryHoldsOneResponseAndNobodyElse() async throws {
    let memory = Memory()
    memory.bond()
    let bench = try await Bench(memory)
    let client = try await bench.connect()
    let other = try await bench.connect()
    // The records that changed with the security level have been stored.
    _ = try await client.readOnce(bench.value)
    _ = try await other.readOnce(bench.value)
    memory.slowDown()
    let write = Task { try await client.write([1, 0], to: bench.configuration) }
    try await withDeadline { await memory.completionWaits() }
    #expect(try await other.readOnce(bench.value) == [0])
    #expect(try await client.awaitedRequest != nil)
    memory.answer()
    try await withDeadline { try await write.value }
    client.close()
    other.close()
  }

  /// A client is not served before it has been looked up.
  @Test func aClientWaitsUntilItsRecordIsThere() async throws {
    let memory = Memory()
    memory.bond()
    let bench = try await Bench(memory)
    let first = try await bench.connect()
    try await first.write([1, 0], to: bench.configuration)
    first.close()
    try await withDeadline { try await until { try await bench.server.clients.isEmpty } }
    memory.slowDown()
    let second = try await bench.connect(.low)
    let read = Task { try await second.readOnce(bench.configuration) }
    for _ in 0..<10 { try await bench.server.loop.turn() }
    #expect(try await bench.server.clients.isEmpty)
    memory.answer()
    #expect(try await withDeadline { try await read.value } == [1, 0])
    #expect(try await bench.server.clients.count == 1)
    second.close()
  }

  /// A client that disconnects before it was looked up keeps its record.
  @Test func aClientThatEndsEarlyKeepsItsRecord() async throws {
    let memory = Memory()
    memory.bond()
    let bench = try await Bench(memory)
    let first = try await bench.connect()
    try await first.write([1, 0], to: bench.configuration)
    first.close()
    try await withDeadline { try await until { try await bench.server.clients.isEmpty } }
    let records = memory.records
    memory.slowDown()
    let second = try await bench.connect(.medium)
    second.close()
    for _ in 0..<10 { try await bench.server.loop.turn() }
    memory.answer()
    for _ in 0..<10 { try await bench.server.loop.turn() }
    #expect(memory.records == records)
  }

  /// Requests that come after a signed write are handled after it, though its counter takes long.
  @Test func aSignedWriteWaitsForItsCounterInItsPlace() async throws {
    let memory = Memory()
    let key = [UInt8](0..<16)
    memory.bond(RememberedClient(record: nil, signingKey: key, signCounter: 5))
    let bench = try await Bench(memory)
    let client = try await bench.connect(.low)
    memory.slowDown()
    try await client.writeSigned([2], to: bench.value, counter: 5, key: key)
    let read = Task { try await client.readOnce(bench.value) }
    try await withDeadline { await memory.completionWaits() }
    memory.answer()
    #expect(try await withDeadline { try await read.value } == [2])
    client.close()
  }

  /// The end of a client is reported after its record was stored.
  @Test func theEndOfAClientIsReportedWhenItsRecordIsStored() async throws {
    let memory = Memory()
    memory.bond()
    let bench = try await Bench(memory)
    let events = Log<ServedEvent>()
    let observation = try await bench.server.observe { events.append($0) }
    let client = try await bench.connect()
    _ = try await client.readOnce(bench.value)
    memory.slowDown()
    try await client.writeWithoutResponse([1, 0], to: bench.configuration)
    client.close()
    try await withDeadline { await memory.completionWaits() }
    for _ in 0..<10 { try await bench.server.loop.turn() }
    let isEnd = { @Sendable (event: ServedEvent) in
      if case .disconnected = event { true } else { false }
    }
    #expect(!events.all.contains(where: isEnd))
    memory.answer()
    try await withDeadline { try await until { events.all.contains(where: isEnd) } }
    withExtendedLifetime(observation) {}
  }
}
