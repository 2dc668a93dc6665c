import Atto
import AttoATT
import AttoEventLoop
import AttoGATT
import AttoLinks
import AttoRadio

/// Holding the link.
extension Device {
  /// After this time a link counts as one that lasts.
  static let steadyTime: Duration = .seconds(5)

  /// Makes the link again and again until it is no longer wanted.
  func hold() async {
    while isWanted, !Task.isCancelled {
      state = .waiting
      guard let turn = await hub.turn(of: self) else { break }
      state = .connecting
      adapter = turn.adapterName.description
      switch await attempt(turn) {
      case .success(let connection): await serve(connection)
      case .failure(let error):
        hub.here { $0.attemptEnded(turn) }
        if !error.isCancellation { failed(error) }
      }
      hub.here { $0.linkEnded(turn) }
      adapter = nil
    }
    state = .idle
    holding = nil
    // It may be wanted again by now.
    wantChanged()
  }

  /// Connects in a task of its own: a task keeps the memory of its deepest call until it ends, and the one
  /// that holds the link lasts as long as that.
  private func attempt(_ turn: Turn) async -> Result<Connection, AttoError> {
    let attempt = Task(executorPreference: loop.tasks) {
      () async -> Result<Connection, AttoError> in
      do throws(AttoError) {
        return .success(try await self.begin(turn))
      } catch {
        return .failure(error)
      }
    }
    return await withTaskCancellationHandler {
      await attempt.value
    } onCancel: {
      attempt.cancel()
    }
  }

  private func failed(_ error: AttoError) {
    failures += 1
    counted.failures += 1
    // One that is absent for months fails every minute.
    hub.log(error == lastError ? .debug : .info, "\(label): \(error)")
    lastError = error
  }

  private var options: ConnectionOptions {
    var options = ConnectionOptions()
    options.connectTimeout = hub.here { $0.configuration.limits.attemptTime }
    options.security = configuration?.security ?? .low
    options.securityOnDemand = .high
    options.procedureTimeout = .seconds(60)
    return options
  }

  private func connect(_ turn: Turn) async throws(AttoError) -> Connection {
    let endpoint: Endpoint =
      if let index = turn.adapter.index {
        .le(L2CAPAddress(turn.address, source: .adapter(index)))
      } else {
        .air(turn.address.digits)
      }
    var options = options
    let security = options.security
    let asks = hub.here { $0.configuration.asksPasskeys }
    // A person takes longer than an attempt may.
    if asks { options.security = .low }
    let connection = try await Connection.connect(
      to: endpoint, options: options, adapter: turn.adapter)
    if asks, security > .low {
      hub.here { $0.attemptEnded(turn) }
      try await connection.raiseSecurity(to: security)
    }
    // Before anything else: a bonded device may send values at once.
    connection.observeValues { [weak self] handle, value in
      guard let self else { return }
      let octets = value.withUnsafeBytes { [UInt8]($0) }
      self.here { $0.received(handle, octets) }
    }
    hub.here { $0.attemptEnded(turn) }
    return connection
  }

  /// Makes a link, and tells its users.
  private func begin(_ turn: Turn) async throws(AttoError) -> Connection {
    let connection = try await connect(turn)
    var mtu = 23
    do throws(AttoError) {
      mtu = try await connection.exchangeMTU()
    } catch .refused {
      // The peer has only the default.
    } catch {
      connection.close()
      throw error
    }
    self.connection = connection
    state = .connected(mtu: mtu)
    linkedSince = loop.now
    lastError = nil
    counted.links += 1
    await configureAgain(connection)
    hub.log(.info, "\(label): connected, ATT_MTU \(mtu)")
    tell(.connected(mtu: mtu))
    linkWaiters.resumeAll(.success(mtu))
    return connection
  }

  /// Uses a link until its end.
  private func serve(_ connection: Connection) async {
    try? await connection.waitUntilClosed()
    let reason = await connection.endReason ?? .closed
    connection.close()
    // A link that does not last is followed by a pause, as a failure is.
    let isSteady = loop.now - linkedSince >= Self.steadyTime.inNanoseconds
    failures = isSteady ? 0 : failures + 1
    self.connection = nil
    isHeldBack = false
    state = .waiting
    lastHeard?.time = loop.now
    known = nil
    discovery?.cancel()
    discovery = nil
    subscriptions.here { $0.end() }
    lastError = reason
    hub.log(.info, "\(label): \(reason)")
    tell(.disconnected(reason))
  }

  func stoppedAdvertising(_ address: BluetoothAddress, _ adapter: AdapterName) {
    guard lastHeard?.discovery.address == address, lastHeard?.adapter == adapter else { return }
    lastHeard?.time = loop.now
  }

  /// A value from the device.
  func received(_ handle: AttributeHandle, _ octets: [UInt8]) {
    counted.values += 1
    if handle == serviceChanged { databaseChanged() }
    if !refreshes.isEmpty { refreshes = refreshes.filter { $0.handle != handle } }
    for id in subscriptions.users(of: handle).keys {
      guard let user = users[id] else { continue }
      user.events.add(.value(handle, octets))
      if user.holdsBack, !isHeldBack, user.events.count >= Self.holdLimit {
        isHeldBack = true
        connection?.holdBack(true)
      }
    }
  }

  /// A user has received the events that waited.
  func letGoOn() {
    guard isHeldBack else { return }
    isHeldBack = false
    connection?.holdBack(false)
  }

  private func databaseChanged() {
    known = nil
    discovery?.cancel()
    discovery = nil
    tell(.databaseChanged)
  }

  /// Waits until there is a link.
  func link(for id: UInt64, within time: Duration) async throws(GatewayError) -> Int {
    let label = label
    do throws(GatewayError) {
      return try await loop.withLocalWaiter { (waiter: Waiter<Int, GatewayError>) in
        if case .connected(let mtu) = state { return waiter.resume(.success(mtu)) }
        guard users[id] != nil else { return waiter.resume(.failure(.released)) }
        linkWaiters.append(waiter, for: id)
        waiter.resume(.failure(.connectTimeout(device: label, after: time)), after: time)
      }
    } catch .connectTimeout(let device, let time) {
      let slots = await hub.slots
      if state == .waiting, slots.free == 0 { throw .noFreeSlot(limit: slots.limit) }
      throw .connectTimeout(device: device, after: time)
    }
  }
}

extension Device {
  func setParameters(_ parameters: PreferredConnectionParameters) async throws(GatewayError) {
    guard let address else { throw .notConnected(device: label) }
    try await hub.setParameters(parameters, of: address)
  }
}
