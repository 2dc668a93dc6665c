import ATT
import CLinux
import EventLoop
import Glibc
import Links

extension AirAdapter {
  public func advertise(
    _ parameters: AdvertisingParameters
  ) async throws(RadioError) -> Advertisement {
    guard !isClosed else { throw .closed }
    guard current == nil else { throw .alreadyAdvertising }
    try publish(parameters)
    let id = nextID()
    current = id
    advertisements[id] = AdvertisedLinks(parameters)
    return Advertisement(
      .init(
        nextLink: { await self.nextLink(id) },
        update: { (parameters) async throws(RadioError) in try await self.update(id, parameters) },
        stop: { self.later { $0.stopAdvertising(id) } },
        tellFailures: { body in self.later { $0.advertisements[id]?.fail = body } }))
  }

  /// Puts an advertisement into the air, and begins to listen if that has not been done.
  private func publish(_ parameters: AdvertisingParameters) throws(RadioError) {
    guard AdvertisingParameters.intervalRange.contains(parameters.interval) else {
      throw .invalidInterval(parameters.interval)
    }
    let octets: LegacyAdvertisement
    do throws(AdvertisingDataError) {
      octets = try parameters.laidOut()
    } catch {
      throw .advertisingData(error)
    }
    let claim: AirClaim
    if let own = self.claim { claim = own } else { claim = try AirClaim(address, in: folder) }
    self.claim = claim
    if listener == nil {
      listener = try WatchedDescriptor(claim.takeListener(), on: loop) { [weak self] _ in
        self?.assumeIsolated { $0.acceptWaiting() }
      }
    }
    var record = AirRecord()
    record.process = getpid()
    record.name = name
    record.isConnectable = parameters.isConnectable
    record.interval = Int64(parameters.interval / .microseconds(1))
    record.rssi = parameters.simulatedRSSI
    record.advertisement = octets.advertisement
    record.scanResponse = octets.scanResponse
    try claim.advertise(record)
  }

  private func update(_ id: UInt64, _ parameters: AdvertisingParameters) throws(RadioError) {
    guard current == id, let advertisement = advertisements[id] else { throw .closed }
    try publish(parameters)
    advertisement.parameters = parameters
  }

  func stopAdvertising(_ id: UInt64) {
    goOffAir(id)
    guard let advertisement = advertisements.removeValue(forKey: id) else { return }
    advertisement.drop()
    advertisement.finish()
    resumeAccepting()
  }

  private func goOffAir(_ id: UInt64) {
    guard current == id else { return }
    current = nil
    claim?.endAdvertising()
  }

  // MARK: Taking connections

  private func nextLink(_ id: UInt64) async -> ConnectedLink? {
    let taker = nextID()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { take(id, for: taker, $0) }
    } onCancel: {
      later { $0.advertisements[id]?.giveUp(taker) }
    }
  }

  /// Gives the next connection to a taker, now or later. One step: the awaits above may let
  /// others go first, who stop the advertisement or bring a connection.
  private func take(
    _ id: UInt64, for taker: UInt64, _ continuation: CheckedContinuation<ConnectedLink?, Never>
  ) {
    guard let advertisement = advertisements[id], !Task.isCancelled else {
      return continuation.resume(returning: nil)
    }
    if let link = advertisement.take() {
      continuation.resume(returning: link)
      resumeAccepting()
    } else if advertisement.isOver {
      continuation.resume(returning: nil)
    } else {
      advertisement.wait(taker, continuation)
    }
  }

  // MARK: Being connected to

  private var hasRoom: Bool {
    let waiting = current.flatMap { advertisements[$0]?.count } ?? 0
    return handshakes.count < Self.handshakeLimit && waiting < Self.queueLimit
  }

  private func resumeAccepting() {
    guard isAcceptingPaused, hasRoom else { return }
    isAcceptingPaused = false
    acceptWaiting()
  }

  private func acceptWaiting() {
    // While there is no room on the machine each central that comes would begin a pause of its own.
    guard let listener, acceptPause == nil else { return }
    while hasRoom {
      let socket = clinux_accept(listener.descriptor)
      switch -socket {
      case EAGAIN:
        isShort = false
        return
      case EINTR, ECONNABORTED: continue
      case 1...:
        return pauseAccepting(errno: -socket)
      default:
        isShort = false
        greet(socket)
      }
    }
    isAcceptingPaused = true
  }

  /// No descriptors or memory: nobody tells when there are some again.
  private func pauseAccepting(errno: Int32) {
    acceptPause = OneTimer(after: .milliseconds(100), on: loop) { [weak self] in
      self?.assumeIsolated {
        $0.acceptPause = nil
        $0.acceptWaiting()
      }
    }
    // It may last for hours, and is told once.
    guard !isShort else { return }
    isShort = true
    fail(errno)
  }

  /// Tells who advertises that a central could not be taken.
  private func fail(_ errno: Int32) {
    guard let current else { return }
    let endpoint = "air:\(name.isEmpty ? "\(address)" : name)"
    advertisements[current]?.fail?(LinkError(.accept, .system(errno), endpoint: endpoint))
  }

  private func greet(_ socket: Int32) {
    // A socket that cannot be watched was closed: the central sees a hang-up and tries again.
    guard let control = try? AirControlSocket(socket, on: loop, takesChannel: false) else { return }
    let id = nextID()
    handshakes[id] = AirHandshake(control, on: loop, limit: handshakeTime) {
      [weak self] in self?.assumeIsolated { $0.endHandshake(id) }
    }
    control.hand { [weak self] input in
      self?.assumeIsolated { adapter in
        guard case .control(.hello(let address, let name)) = input else {
          return adapter.endHandshake(id)
        }
        adapter.admit(id, address, name)
      }
    }
  }

  private func endHandshake(_ id: UInt64) {
    handshakes.removeValue(forKey: id)?.end()
    resumeAccepting()
  }

  /// A central has said who it is.
  private func admit(_ id: UInt64, _ peer: BluetoothAddress, _ name: String) {
    guard let control = handshakes[id]?.control else { return }
    if let reason = reasonToRefuse(peer) {
      _ = control.send(.reject(reason))
      return endHandshake(id)
    }
    var ends: (Int32, Int32) = (-1, -1)
    // The tuple has the layout of the array of two that socketpair(2) fills.
    let result = withUnsafeMutableBytes(of: &ends) {
      clinux_seqpacket_pair($0.assumingMemoryBound(to: Int32.self).baseAddress!)
    }
    guard result == 0 else {
      _ = control.send(.reject(.limitedResources))
      fail(-result)
      return endHandshake(id)
    }
    let own = OwnedDescriptor(owning: ends.0)
    let theirs = OwnedDescriptor(owning: ends.1)
    guard control.send(.accept, channel: theirs.rawValue) else { return endHandshake(id) }
    handshakes.removeValue(forKey: id)?.succeed()
    peers[peer] = control
    let identity = ObjectIdentifier(control)
    let link = AirLink(
      data: own, control: control, peer: peer, name: name, maximum: maximumSecurity,
      isCentral: false, pairings: pairings, on: loop
    ) { [weak self] in
      self?.assumeIsolated { $0.forget(peer, identity) }
    }
    channels.add(link)
    deliver(ConnectedLink(link, peer: peer, identity: name, isCentral: false, loop: loop))
    resumeAccepting()
  }

  /// A link has ended. Its central may have come back in the meantime.
  private func forget(_ peer: BluetoothAddress, _ control: ObjectIdentifier) {
    if let known = peers[peer], ObjectIdentifier(known) == control { peers[peer] = nil }
  }

  private func reasonToRefuse(_ peer: BluetoothAddress) -> DisconnectReason? {
    guard let current, advertisements[current]?.parameters.isConnectable == true else {
      return .failedToBeEstablished
    }
    // A link that the peer has left, though this end has not been told yet, does not count.
    if let known = peers[peer], !known.isHungUp { return .connectionAlreadyExists }
    return peers.count < linkLimit ? nil : .connectionLimitExceeded
  }

  private func deliver(_ link: ConnectedLink) {
    guard let current, let advertisement = advertisements[current] else { return }
    advertisement.add(link)
    if advertisement.parameters.stopsWhenConnected {
      goOffAir(current)
      advertisement.finish()
    }
  }
}
