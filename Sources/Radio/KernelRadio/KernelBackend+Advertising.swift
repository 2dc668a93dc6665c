import AttoEventLoop
import AttoLinks
import AttoRadio

extension KernelBackend {
  nonisolated(nonsending) func advertise(
    _ id: UInt64, _ parameters: AdvertisingParameters, _ octets: LegacyAdvertisement
  ) async throws(RadioError) {
    let answer = try await command(.readAdvertisingFeatures)
    guard let features = AdvertisingFeatures(answer) else {
      throw .managementSilent(.readAdvertisingFeatures, adapter: index)
    }
    let used = Set(advertisements.values.map(\.instance))
    guard let instance = features.free(except: used) else {
      throw features.instanceLimit == 0
        ? .unsupported("advertising") : .tooManyAdvertisements(limit: Int(features.instanceLimit))
    }
    let advertisement = KernelAdvertisement(
      instance: instance, parameters: parameters, octets: octets)
    advertisements[id] = advertisement
    // Before the advertisement is on the air.
    if parameters.isConnectable { try listen() }
    try await publish(advertisement)
    refreshLater(id)
  }

  nonisolated(nonsending) func updateAdvertisement(
    _ id: UInt64, _ parameters: AdvertisingParameters, _ octets: LegacyAdvertisement
  ) async throws(RadioError) {
    guard var advertisement = advertisements[id] else { throw .closed }
    if parameters.isConnectable { try listen() }
    advertisement.parameters = parameters
    advertisement.octets = octets
    try await publish(advertisement)
    advertisements[id]?.parameters = parameters
    advertisements[id]?.octets = octets
    endListeningIfUnused()
  }

  func endAdvertisement(_ id: UInt64) {
    guard let advertisement = advertisements.removeValue(forKey: id) else { return }
    advertisement.refresh?.cancel()
    send(.removeAdvertising, [advertisement.instance])
    endListeningIfUnused()
  }

  func acceptMore() { listener?.resume() }

  // MARK: The kernel's instance

  private nonisolated(nonsending) func publish(
    _ advertisement: KernelAdvertisement
  ) async throws(RadioError) {
    let result: Result<Void, RadioError> = await withCheckedContinuation(isolation: #isolation) {
      continuation in
      publish(advertisement) { continuation.resume(returning: $0) }
    }
    try result.get()
  }

  private func publish(
    _ added: KernelAdvertisement, _ completion: @escaping (Result<Void, RadioError>) -> Void
  ) {
    guard let channel else { return completion(.failure(.closed)) }
    let index = information.index
    guard commands.contains(ManagementOpcode.addAdvertisingParameters.code) else {
      return channel.send(.addAdvertising, index, added.whole) { completion($0.map { _ in }) }
    }
    channel.send(.addAdvertisingParameters, index, added.extendedParameters) {
      [weak channel] reply in
      guard case .success = reply, let channel else { return completion(reply.map { _ in }) }
      channel.send(.addAdvertisingData, index, added.extendedData) { [weak channel] reply in
        if case .failure = reply { channel?.send(.removeAdvertising, index, [added.instance]) }
        completion(reply.map { _ in })
      }
    }
  }

  private func refreshLater(_ id: UInt64, after time: Duration = KernelAdvertisement.refreshTime) {
    guard let advertisement = advertisements[id] else { return }
    advertisement.refresh?.cancel()
    advertisements[id]?.refresh = LoopTimer(after: time, on: loop) { [weak self] in
      self?.refresh(id)
    }
  }

  private func refresh(_ id: UInt64) {
    guard let advertisement = advertisements[id] else { return }
    publish(advertisement) { [weak self] result in
      // After a failure it is tried again: the adapter is busy, or powered off for a while.
      let isDone = if case .success = result { true } else { false }
      self?.refreshLater(id, after: isDone ? KernelAdvertisement.refreshTime : .seconds(1))
    }
  }

  /// The kernel or another program has removed an instance.
  func advertisingRemoved(_ instance: UInt8) {
    for (id, advertisement) in advertisements where advertisement.instance == instance {
      refreshLater(id, after: .zero)
    }
  }

  /// A link was made by either end: the kernel has stopped connectable advertising without an event.
  func connected(_ peer: BluetoothAddress) {
    peers.insert(peer)
    for (id, advertisement) in advertisements
    where advertisement.parameters.isConnectable && !advertisement.parameters.stopsWhenConnected {
      refreshLater(id, after: .milliseconds(20))
    }
  }

  // MARK: Accepting connections

  private func listen() throws(RadioError) {
    guard listener == nil else { return }
    listener = try accept { () throws(LinkError) in
      try SocketListener(l2cap: source)
    } hasRoom: { [host] in
      host.hasRoom
    } deliver: { [weak self, loop] link in
      // A peer that has disconnected already has no address any more.
      guard let peer = BluetoothAddress(link.peerName.dropFirst("le:".count)) else { return }
      self?.peers.insert(peer)
      self?.host.accepted(
        ConnectedLink(link, peer: peer, identity: "", isCentral: false, loop: loop))
    } failure: { [host] in
      host.acceptFailed($0)
    }
  }

  private func endListeningIfUnused() {
    guard !advertisements.values.contains(where: \.parameters.isConnectable) else { return }
    listener?.stop()
    listener = nil
  }
}
