import Atto
import AttoEventLoop
import AttoGateway
import AttoLinks
import AttoRadio

/// What all clients get alike.
extension ESPHomeServer {
  // MARK: Advertisements

  /// Listens while somebody wants advertisements.
  func subscribersChanged() {
    let isWanted = clients.values.contains { $0.here { $0.wantsAdvertisements } }
    if isWanted, advertising == nil, let hub {
      advertising = Task(executorPreference: loop.tasks) { await self.forwardAdvertisements(hub) }
    } else if !isWanted {
      advertising?.cancel()
      advertising = nil
    }
  }

  private func forwardAdvertisements(_ hub: Hub) async {
    let heard = await hub.heard()
    while let batch = await heard.next(), !Task.isCancelled {
      advertisementsDropped += UInt64(batch.missed)
      let advertisements = batch.elements.map { RawAdvertisement($0.discovery) }
      for client in clients.values { client.here { $0.pass(advertisements) } }
      do { try await loop.sleep(for: Self.batchTime) } catch { return }
    }
  }

  /// What is on the air already, for a new subscriber.
  func presentAdvertisements() async -> [RawAdvertisement] {
    await hub?.presentDevices.map { RawAdvertisement($0.discovery) } ?? []
  }

  // MARK: The scanner

  /// Scans actively if a client wants it, or if no client has said anything and it is configured.
  func wishesChanged() {
    guard let hub else { return }
    let wishes = clients.values.compactMap { $0.here { $0.wishesActiveScan } }
    Task(executorPreference: loop.tasks) {
      let configured = await hub.configuration.scansActively
      await hub.setScanning(active: wishes.isEmpty ? configured : wishes.contains(true))
      await self.lookAtScanner()
    }
  }

  /// Tells clients of the scanner's state if it is not the one they know.
  func lookAtScanner() async {
    guard let report = await scannerReport(), report != scanner else { return }
    scanner = report
    for client in clients.values {
      client.here { if $0.wantsAdvertisements { $0.send(report) } }
    }
  }

  func scannerReport() async -> AdvertisementReport? {
    guard let hub else { return nil }
    let state = await hub.scanner
    let phase: AdvertisementReport.ScannerPhase =
      switch state.phase {
      case .idle: .idle
      case .starting: .starting
      case .running: .running
      case .failed: .failed
      }
    return .scanner(
      phase, active: state.isActive,
      configuredActive: await hub.configuration.scansActively)
  }

  /// Looks at what nobody reports, while there are clients: the scanner, and clients that are silent.
  func watch() {
    guard watchTimer == nil, !clients.isEmpty else { return }
    watchTimer = LoopTimer(after: Self.watchTime, on: loop) { [weak self] in
      guard let self else { return }
      self.assumeIsolated { server in
        server.watchTimer = nil
        for client in server.clients.values { client.here { $0.checkSilence() } }
        Task(executorPreference: server.loop.tasks) { await server.lookAtScanner() }
        server.watch()
      }
    }
  }

  // MARK: Pairing

  func followPairing() async {
    guard let hub else { return }
    for await batch in await hub.pairingEvents() {
      for event in batch.elements {
        for client in clients.values { client.here { $0.tell(event) } }
      }
    }
  }

  // MARK: Connections

  func followConnections() async {
    guard let hub else { return }
    for await slots in await hub.slotChanges() {
      let report = DeviceReport(slots)
      for client in clients.values {
        client.here { if $0.wantsConnections { $0.send(report) } }
      }
    }
  }
}

extension DeviceReport {
  init(_ slots: Slots) {
    // Clients take the limit without the free connections for those in use. There are more of these than the
    // limit after it was lowered, until their links end.
    self = .connections(
      free: slots.free, limit: max(slots.limit, slots.allocated.count),
      allocated: slots.allocated.map(\.value))
  }
}

extension RawAdvertisement {
  init(_ discovery: Discovery) {
    self.init(
      // Clients take -127 for an unknown strength.
      address: discovery.address.value, rssi: discovery.strength ?? -127,
      addressType: discovery.address.kind == .public ? 0 : 1,
      data: discovery.advertisement + discovery.scanResponse)
  }
}
