import EventLoop
import Links

extension KernelAdapter {
  /// Begins to advertise, in an instance of its own; several may be in the air. The interval is
  /// kept where the kernel knows MGMT_OP_ADD_EXT_ADV_PARAMS (5.11).
  ///
  /// An adapter that is set to be connectable advertises connectably whatever is asked for; one
  /// that is not uses a changing private address for what nobody can connect to.
  ///
  /// - Throws: what `Adapter.advertise` throws, `tooManyAdvertisements`, `poweredOff`,
  ///   `management`, and `link` if nobody could be listened for.
  public func advertise(
    _ parameters: AdvertisingParameters
  ) async throws(RadioError) -> Advertisement {
    if let end { throw end }
    guard state == .poweredOn else { throw .poweredOff(information.label) }
    let octets = try Self.laidOut(parameters)
    let answer = try await command(.readAdvertisingFeatures)
    guard let features = AdvertisingFeatures(answer) else {
      throw .managementSilent(.readAdvertisingFeatures, adapter: index)
    }
    guard let instance = features.free(except: instances) else {
      throw features.instanceLimit == 0
        ? .unsupported("advertising") : .tooManyAdvertisements(limit: Int(features.instanceLimit))
    }
    instances.insert(instance)
    let id = nextID()
    // Before anybody can come, who may be there before the kernel says that it advertises: a
    // central that waits for this peer answers the first PDU.
    advertisements[id] = KernelAdvertisement(instance, parameters, octets)
    do throws(RadioError) {
      if parameters.isConnectable { try listen() }
      try await publish(instance, parameters, octets)
      if let end { throw end }
    } catch {
      stopAdvertising(id)
      throw error
    }
    refreshLater(id)
    return Advertisement(
      .init(
        nextLink: { await self.nextLink(id) },
        update: { (parameters) async throws(RadioError) in
          try await self.update(id, parameters)
        },
        stop: { [weak self] in self?.later { $0.stopAdvertising(id) } },
        tellFailures: { [weak self] body in
          self?.later { $0.advertisements[id]?.queue.fail = body }
        }))
  }

  private static func laidOut(
    _ parameters: AdvertisingParameters
  ) throws(RadioError) -> LegacyAdvertisement {
    guard AdvertisingParameters.intervalRange.contains(parameters.interval) else {
      throw .invalidInterval(parameters.interval)
    }
    do throws(AdvertisingDataError) {
      return try parameters.laidOut()
    } catch {
      throw .advertisingData(error)
    }
  }

  private func publish(
    _ instance: UInt8, _ parameters: AdvertisingParameters, _ octets: LegacyAdvertisement
  ) async throws(RadioError) {
    let added = InstanceOctets(
      instance: instance, isConnectable: parameters.isConnectable, interval: parameters.interval,
      octets: octets)
    guard commands.contains(.addAdvertisingParameters) else {
      try await command(.addAdvertising, added.whole)
      return
    }
    try await command(.addAdvertisingParameters, added.parameters)
    do throws(RadioError) {
      try await command(.addAdvertisingData, added.extendedData)
    } catch {
      channel?.send(.removeAdvertising, index, [instance])
      throw error
    }
  }

  private func update(
    _ id: UInt64, _ parameters: AdvertisingParameters
  ) async throws(RadioError) {
    guard let advertisement = advertisements[id], advertisement.isOnAir else { throw .closed }
    let octets = try Self.laidOut(parameters)
    if parameters.isConnectable { try listen() }
    try await publish(advertisement.instance, parameters, octets)
    advertisement.parameters = parameters
    advertisement.octets = octets
    if !parameters.isConnectable { endListeningIfUnused() }
  }

  // MARK: Staying in the air

  private func refreshLater(_ id: UInt64, after time: Duration = KernelAdvertisement.refreshTime) {
    guard let advertisement = advertisements[id], advertisement.isOnAir else { return }
    advertisement.refresh?.cancel()
    advertisement.refresh = OneTimer(after: time, on: loop) { [weak self] in
      self?.assumeIsolated { $0.refresh(id) }
    }
  }

  private func refresh(_ id: UInt64) {
    guard let advertisement = advertisements[id], advertisement.isOnAir else { return }
    let (instance, parameters) = (advertisement.instance, advertisement.parameters)
    let octets = advertisement.octets
    Task { [weak self] in
      // What fails is tried again: the adapter is busy, or powered off for a while.
      let isDone = (try? await self?.publish(instance, parameters, octets)) != nil
      await self?.refreshed(id, isDone)
    }
  }

  private func refreshed(_ id: UInt64, _ isDone: Bool) {
    guard let advertisement = advertisements[id], advertisement.isOnAir else { return }
    refreshLater(id, after: isDone ? KernelAdvertisement.refreshTime : .seconds(1))
  }

  /// Others have removed it, or it was too late to refresh it.
  func advertisingEnded(_ instance: UInt8) {
    for (id, advertisement) in advertisements where advertisement.instance == instance {
      refreshLater(id, after: .zero)
    }
  }

  /// Somebody has connected, or this end has: connectable advertising has stopped in silence.
  func connected(_ peer: BluetoothAddress) {
    peers.insert(peer)
    for (id, advertisement) in advertisements
    where advertisement.parameters.isConnectable && !advertisement.parameters.stopsWhenConnected {
      refreshLater(id, after: .milliseconds(20))
    }
  }

  func stopAdvertising(_ id: UInt64) {
    goOffAir(id)
    guard let advertisement = advertisements.removeValue(forKey: id) else { return }
    advertisement.queue.drop()
    advertisement.queue.finish()
    endListeningIfUnused()
  }

  private func goOffAir(_ id: UInt64) {
    guard let advertisement = advertisements[id], advertisement.isOnAir else { return }
    advertisement.isOnAir = false
    advertisement.refresh?.cancel()
    instances.remove(advertisement.instance)
    channel?.send(.removeAdvertising, index, [advertisement.instance])
  }

  // MARK: Taking connections

  private func listen() throws(RadioError) {
    guard listener == nil else { return }
    // An adapter without a public address is listened on with all others.
    let source = address.value == 0 ? L2CAPSource.any : .adapter(index)
    let socket: L2CAPListener
    do throws(LinkError) {
      socket = try L2CAPListener(source: source)
    } catch {
      throw .link(error)
    }
    do throws(LoopError) {
      listener = try LinkAcceptor(
        socket, on: loop,
        { [weak self, loop] link in
          // One whose peer has gone already has no address left, and is dropped.
          guard let peer = BluetoothAddress(link.peerName.dropFirst("le:".count)) else { return }
          let connected = ConnectedLink(
            link, peer: peer, identity: "", isCentral: false, loop: loop)
          self?.assumeIsolated { $0.deliver(connected) }
        },
        failure: { [weak self] error in
          self?.assumeIsolated { adapter in
            for advertisement in adapter.advertisements.values { advertisement.queue.fail?(error) }
          }
        })
    } catch {
      throw .system("watch a descriptor", errno: error.errno)
    }
  }

  private func endListeningIfUnused() {
    let isUsed = advertisements.values.contains { $0.isOnAir && $0.parameters.isConnectable }
    guard !isUsed else { return }
    listener?.stop()
    listener = nil
  }

  /// Gives a connection to the oldest advertisement that takes some: the kernel does not tell
  /// which one the central has answered.
  private func deliver(_ link: ConnectedLink) {
    let taker = advertisements.filter { $0.value.isOnAir && $0.value.parameters.isConnectable }
      .min { $0.key < $1.key }
    // One that is not kept is closed.
    guard let (id, advertisement) = taker, advertisement.queue.count < Self.queueLimit else {
      return
    }
    peers.insert(link.peer)
    advertisement.queue.add(link)
    if advertisement.parameters.stopsWhenConnected {
      goOffAir(id)
      advertisement.queue.finish()
      endListeningIfUnused()
    }
  }

  private func nextLink(_ id: UInt64) async -> ConnectedLink? {
    let taker = nextID()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { take(id, for: taker, $0) }
    } onCancel: {
      later { $0.advertisements[id]?.queue.giveUp(taker) }
    }
  }

  /// Gives the next connection to a taker, now or later. One step: the awaits above may let
  /// others go first, who stop the advertisement or bring a connection.
  private func take(
    _ id: UInt64, for taker: UInt64, _ continuation: CheckedContinuation<ConnectedLink?, Never>
  ) {
    guard let queue = advertisements[id]?.queue, !Task.isCancelled else {
      return continuation.resume(returning: nil)
    }
    if let link = queue.take() {
      continuation.resume(returning: link)
    } else if queue.isOver {
      continuation.resume(returning: nil)
    } else {
      queue.wait(taker, continuation)
    }
  }
}
