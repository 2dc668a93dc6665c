import Atto
import AttoFormats
import Synchronization

/// Carries out the behaviours of values: errors, delays, echoes, counters, sinks, bursts, streams.
final class ProfilePlayer: Sendable {
  private let server: LocalServer
  private let values: [ScriptedValue]
  private let application: ProfileApplication?
  private let onEvent: @Sendable (ProfileServerEvent) -> Void
  private let state = Mutex(
    (tasks: [Task<Void, any Error>](), observation: ServerObservation?.none))
  private let isStopped = Atomic<Bool>(false)

  init(
    _ values: [ScriptedValue], on server: LocalServer, _ application: ProfileApplication?,
    _ onEvent: @escaping @Sendable (ProfileServerEvent) -> Void
  ) {
    self.values = values
    self.server = server
    self.application = application
    self.onEvent = onEvent
  }

  /// Installs the handlers and starts the periodic values.
  func start() async throws(AttoError) {
    for value in values where value.behaviour.needsApplication {
      if value.behaviour.isAnswered {
        server.onRead(of: value.handle, application?.read ?? ProfileApplication.none.read)
        server.onWrite(of: value.handle, application?.write ?? ProfileApplication.none.write)
      } else {
        answerReads(value)
        answerWrites(value)
      }
    }
    let observation = try await server.observe { [weak self] in self?.observe($0) }
    var tasks: [Task<Void, any Error>] = []
    for value in values {
      if let time = value.behaviour.notifyEvery { tasks.append(send(value, every: time)) }
      if let time = value.behaviour.indicateEvery {
        tasks.append(send(value, every: time, indicates: true))
      }
    }
    state.withLock { $0 = (tasks, observation) }
  }

  /// Stops everything that the values do by themselves. Handlers stay.
  func stop() {
    isStopped.store(true, ordering: .relaxed)
    let tasks = state.withLock { state in
      defer { state = ([], nil) }
      return state.tasks
    }
    for task in tasks { task.cancel() }
  }

  /// Runs on the loop.
  private func observe(_ event: ServedEvent) {
    switch event {
    case .disconnected(let client, _):
      for value in values {
        value.forget(client)
        guard let sink = value.removeSink(of: client) else { continue }
        onEvent(
          .discarded(value.handle, writes: sink.writes, octets: sink.octets, by: client))
      }
    case .server(.configured(let handle, let configuration, let client)):
      guard let value = values.first(where: { $0.handle == handle }) else { return }
      guard value.behaviour.burst != nil || value.behaviour.streamSize != nil else { return }
      // A new subscription starts a new series.
      let series = value.beginSeries(to: client)
      if configuration.contains(.notification), value.behaviour.burst?.trigger == .subscribe {
        run { await $0.burst(value, to: client, series) }
      }
      if value.behaviour.streamSize == nil || configuration.isEmpty { return }
      let indicates = !configuration.contains(.notification)
      run { await $0.stream(value, to: client, series, indicates: indicates) }
    default: break
    }
  }

  private func run(_ body: @escaping @Sendable (ProfilePlayer) async -> Void) {
    Task(executorPreference: server.loop.tasks) { await body(self) }
  }

  // MARK: - Periodic values

  /// Sends the value periodically. A client whose last value is still in transit, because its link
  /// has no room or it has not confirmed, misses a turn and delays no other client. A turn that all
  /// miss does not count: a single client gets each number of a counter.
  private func send(
    _ value: ScriptedValue, every time: Duration, indicates: Bool = false
  ) -> Task<Void, any Error> {
    let handle = value.handle
    let busy = BusyClients()
    return Task(executorPreference: server.loop.tasks) { [server] in
      try await withThrowingDiscardingTaskGroup { group in
        while true {
          try await server.loop.sleep(for: time)
          guard try await server.hasSubscribers(to: handle) else { continue }
          let clients = try await server.clients.filter { busy.begin($0) }
          guard !clients.isEmpty else { continue }
          let octets =
            value.behaviour.needsApplication
            ? value.next() : try await server.value(of: handle) ?? []
          for client in clients {
            group.addTask {
              defer { busy.end(client) }
              if indicates {
                _ = try? await server.indicate(octets, of: handle, to: client)
              } else {
                _ = try? await server.notify(octets, of: handle, to: client)
              }
            }
          }
        }
      }
    }
  }

  // MARK: - Requests

  private func answerReads(_ value: ScriptedValue) {
    let error = value.behaviour.readError
    guard let delay = value.behaviour.delay else {
      return server.onReadInline(of: value.handle) { request in
        error.map { .refused($0) } ?? .value(value.read(by: request.client))
      }
    }
    server.onRead(of: value.handle) { [loop = server.loop] (request) throws(ErrorCode) in
      try? await loop.sleep(for: delay)
      if let error { throw error }
      return value.read(by: request.client)
    }
  }

  private func answerWrites(_ value: ScriptedValue) {
    let behaviour = value.behaviour
    let handle = value.handle
    if behaviour.delay == nil, behaviour.echo == nil, behaviour.burst?.trigger != .write {
      return server.onWriteInline(of: handle) {
        [weak self, onEvent, loop = server.loop] origin, octets in
        if let code = behaviour.writeError { return .refused(code) }
        if behaviour.isSink, octets.byteCount <= value.described.limits.maximumLength {
          value.sink(octets, from: origin.client, at: loop.now)
          if behaviour.octetsPerSecond != nil {
            self?.countSecond(octets.byteCount, of: value, from: origin.client)
          }
          return .accepted
        }
        let written = octets.owned
        let parts = [(origin.offset, written)]
        if behaviour.streamSize != nil {
          return value.setStreamSize(parts, by: origin.client).map { .refused($0) } ?? .accepted
        }
        if let code = value.write(parts) { return .refused(code) }
        onEvent(.written(handle, written, by: origin.client))
        return .accepted
      }
    }
    server.onWrite(of: handle) { [weak self] (writes) throws(ErrorCode) in
      guard let self else { throw .unlikelyError }
      if let delay = behaviour.delay { try? await server.loop.sleep(for: delay) }
      if let code = behaviour.writeError { throw code }
      guard let client = writes.first?.client else { return }
      let parts = writes.map { ($0.offset, $0.value) }
      if behaviour.streamSize != nil {
        if let code = value.setStreamSize(parts, by: client) { throw code }
        return
      }
      if let code = value.write(parts) { throw code }
      for write in writes {
        if behaviour.isSink {
          value.sink(write.value.span.bytes, from: client, at: server.loop.now)
          countSecond(write.value.count, of: value, from: client)
        } else {
          onEvent(.written(handle, write.value, by: client))
        }
      }
      if behaviour.echo != nil, let echo = value.described.echo {
        for write in writes { await self.echo(write.value, at: echo, to: client) }
      }
      if behaviour.burst?.trigger == .write {
        let series = value.beginSeries(to: client)
        run { await $0.burst(value, to: client, series) }
      }
    }
  }

  /// Notifies what a client has written to a sink in a second, at its end.
  private func countSecond(_ octets: Int, of value: ScriptedValue, from client: ClientID) {
    guard value.behaviour.octetsPerSecond != nil, let handle = value.described.echo,
      value.beginSecond(octets, of: client)
    else { return }
    run { player in
      try? await player.server.loop.sleep(for: .seconds(1))
      guard let count = value.endSecond(of: client) else { return }
      let octets = (0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * UInt32($0))) }
      _ = try? await player.server.notify(octets, of: handle, to: client)
    }
  }

  // MARK: - Unsolicited values

  /// Notifies or indicates an echo, as the client configured it.
  private func echo(
    _ octets: [UInt8], at handle: AttributeHandle, to client: ClientID
  ) async {
    guard let delivered = try? await server.notify(octets, of: handle, to: client),
      delivered.count == 0
    else { return }
    _ = try? await server.indicate(octets, of: handle, to: client)
  }

  private func burst(_ value: ScriptedValue, to client: ClientID, _ series: ValueSeries) async {
    guard let burst = value.behaviour.burst else { return }
    for number in 0..<UInt32(burst.count) {
      guard series.isWanted, !isStopped.load(ordering: .relaxed) else { return }
      let octets = Profile.Burst.value(number, size: burst.size)
      guard let delivered = try? await server.notify(octets, of: value.handle, to: client),
        delivered.count > 0
      else { return }
    }
  }

  /// Sends numbered values until the client changes its subscription or disconnects.
  private func stream(
    _ value: ScriptedValue, to client: ClientID, _ series: ValueSeries, indicates: Bool
  ) async {
    let numbering = value.behaviour.numbering
    var number: UInt32 = 0
    var size = -1
    var octets: [UInt8] = []
    while series.isWanted, !isStopped.load(ordering: .relaxed) {
      let wanted = value.streamSize(for: client)
      if size != wanted {
        size = wanted
        octets = numbering.value(number, size: size)
      }
      numbering.set(number, of: &octets)
      let delivered =
        indicates
        ? try? await server.indicate(octets, of: value.handle, to: client)
        : try? await server.notify(octets, of: value.handle, to: client)
      guard let delivered, delivered.count > 0 else { return }
      number &+= 1
    }
  }
}

/// The clients that are being sent a value.
private final class BusyClients: Sendable {
  private let clients = Mutex<Set<ClientID>>([])

  /// Returns false if the client is busy already.
  func begin(_ client: ClientID) -> Bool { clients.withLock { $0.insert(client).inserted } }

  func end(_ client: ClientID) { _ = clients.withLock { $0.remove(client) } }
}
