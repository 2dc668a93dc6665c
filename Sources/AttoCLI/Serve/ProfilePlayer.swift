import Atto
import Files
import Synchronization

/// Makes a server behave as a profile says: errors, delays, echoes, counters, sinks, bursts.
final class ProfilePlayer: Sendable {
  let server: LocalServer
  private let values: [BehavedValue]

  private let report: ServeReport

  init(_ values: [BehavedValue], on server: LocalServer, _ report: ServeReport) {
    self.server = server
    self.values = values
    self.report = report
  }

  /// Sets up handlers and runs what happens by itself until the task is cancelled.
  func play() async throws {
    for value in values where value.described.isApplication {
      answerReads(value)
      answerWrites(value)
    }
    let subscriptions = AsyncStream<(BehavedValue, ClientID)>.makeStream(
      bufferingPolicy: .bufferingOldest(1024))
    let streams = StreamsUnderWay()
    let byHandle = Dictionary(
      values.map { ($0.handle, $0) }, uniquingKeysWith: { first, _ in first })
    let observation = try await server.observe {
      [weak self, values, report, loop = server.loop] event in
      if case .disconnected(let client, _) = event {
        streams.forget(client)
        for value in values {
          value.forget(client)
          guard let sunk = value.takeSunk(by: client) else { continue }
          report.sunk(value.handle, writes: sunk.writes, octets: sunk.octets, by: client)
        }
      }
      guard case .server(.configured(let handle, let configuration, let client)) = event,
        let value = byHandle[handle]
      else { return }
      let isBurst =
        configuration.contains(.notification) && value.behaviour.burst?.trigger == .subscribe
      if isBurst { subscriptions.continuation.yield((value, client)) }
      guard value.behaviour.streamSize != nil else { return }
      // Whoever subscribes anew begins anew.
      let turn = streams.turn(of: handle, to: client)
      if configuration.isEmpty { return }
      Task(executorPreference: loop.tasks) {
        await self?.stream(
          value, to: client, indicates: !configuration.contains(.notification)
        ) { streams.isCurrent(turn, of: handle, to: client) }
      }
    }
    defer { withExtendedLifetime(observation) {} }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for value in values {
        if let time = value.behaviour.notifyEvery {
          group.addTask { try await self.repeatEvery(time, value, indicates: false) }
        }
        if let time = value.behaviour.indicateEvery {
          group.addTask { try await self.repeatEvery(time, value, indicates: true) }
        }
      }
      group.addTask {
        try await withThrowingDiscardingTaskGroup { bursts in
          for await (value, client) in subscriptions.stream {
            bursts.addTask { await self.burst(value, to: client) }
          }
        }
      }
      try await group.waitForAll()
    }
  }

  private func current(_ value: BehavedValue) async throws(AttoError) -> [UInt8] {
    if value.described.isApplication { return value.next() }
    return try await server.value(of: value.handle) ?? []
  }

  /// Sends the value again and again. A client whose last one is still on its way, because its
  /// link has no room or it has not confirmed, misses a turn and holds up nobody else.
  private func repeatEvery(
    _ time: Duration, _ value: BehavedValue, indicates: Bool
  ) async throws {
    let handle = value.handle
    let busy = BusyClients()
    try await withThrowingDiscardingTaskGroup { group in
      while true {
        try await server.loop.sleep(for: time)
        guard try await server.hasSubscribers(to: handle) else { continue }
        let octets = try await current(value)
        for client in try await server.clients where busy.begin(client) {
          group.addTask { [server] in
            defer { busy.end(client) }
            if indicates {
              _ = try? await server.indicate(handle, octets, to: client)
            } else {
              _ = try? await server.notify(handle, octets, to: client)
            }
          }
        }
      }
    }
  }

  private func answerReads(_ value: BehavedValue) {
    let answer: @Sendable (ClientID) -> ReadAnswer = { client in
      if let code = value.behaviour.readError { return .refused(code) }
      return .value(value.behaviour.isTally ? value.tally(of: client) : value.next())
    }
    let handle = value.handle
    guard let delay = value.behaviour.delay else {
      return server.onRead(of: handle, inline: { answer($0.client) })
    }
    let loop = server.loop
    server.onRead(of: handle) { request in
      try? await loop.sleep(for: delay)
      return switch answer(request.client) {
      case .refused(let code): .refused(code)
      case .value(let octets): .value(octets)
      default: .refused(.unlikelyError)
      }
    }
  }

  private func answerWrites(_ value: BehavedValue) {
    let behaviour = value.behaviour
    let handle = value.handle
    let isPlain =
      behaviour.delay == nil && behaviour.echo == nil && behaviour.burst?.trigger != .write
    if isPlain {
      return server.onWrite(
        of: handle,
        inline: { [report, loop = server.loop] origin, octets in
          if let code = behaviour.writeError { return .refused(code) }
          if behaviour.isSink, octets.byteCount <= value.described.limits.maximumLength {
            value.sink(octets, from: origin.client, at: loop.now)
            return .accepted
          }
          let written = octets.owned
          if behaviour.streamSize != nil {
            let parts = [(origin.offset, written)]
            let code = value.setStreamSize(parts, by: origin.client)
            return code.map { .refused($0) } ?? .accepted
          }
          if let code = value.write([(origin.offset, written)]) { return .refused(code) }
          report.written(handle, written, by: origin.client)
          return .accepted
        })
    }
    server.onWrite(of: handle) { [self] (writes: [WriteRequestContext]) in
      if let delay = behaviour.delay { try? await server.loop.sleep(for: delay) }
      if let code = behaviour.writeError { return code }
      guard let client = writes.first?.client else { return nil }
      let parts = writes.map { ($0.offset, $0.value) }
      if behaviour.streamSize != nil { return value.setStreamSize(parts, by: client) }
      if let code = value.write(parts) { return code }
      for write in writes {
        if behaviour.isSink {
          value.sink(write.value.span.bytes, from: client, at: server.loop.now)
        } else {
          report.written(handle, write.value, by: client)
        }
      }
      if let echo = value.echo {
        for write in writes { await send(write.value, at: echo, to: client) }
      }
      if behaviour.burst?.trigger == .write {
        Task(executorPreference: server.loop.tasks) { await self.burst(value, to: client) }
      }
      return nil
    }
  }

  /// An echo goes the way that the client has asked for; to one that has not, nowhere.
  private func send(
    _ octets: [UInt8], at handle: AttributeHandle, to client: ClientID
  ) async {
    guard let delivered = try? await server.notify(handle, octets, to: client),
      delivered.count == 0
    else { return }
    _ = try? await server.indicate(handle, octets, to: client)
  }

  private func burst(_ value: BehavedValue, to client: ClientID) async {
    guard let burst = value.behaviour.burst else { return }
    for number in 0..<UInt32(burst.count) {
      let octets = burst.value(number, limit: burst.size)
      guard
        let delivered = try? await server.notify(value.handle, octets, to: client),
        delivered.count > 0
      else { return }
    }
  }
}

/// Clients that something is on its way to.
private final class BusyClients: Sendable {
  private let clients = Mutex<Set<ClientID>>([])

  /// False if it is busy already.
  func begin(_ client: ClientID) -> Bool { clients.withLock { $0.insert(client).inserted } }

  func end(_ client: ClientID) { _ = clients.withLock { $0.remove(client) } }
}
