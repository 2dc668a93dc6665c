internal import Atto
import Foundation

extension CentralEngine {
  func scan(_ request: ScanRequest) {
    scanning?.cancel()
    self.request = request
    save()
    guard let radio, radio.state == .poweredOn, let adapter = radio.adapter else { return }
    var options = ScanOptions()
    options.reportsDuplicates = request.allowsDuplicates || request.goneAfter != nil
    options.timeout = request.timeout.map { .seconds($0) }
    reported = []
    watchPresence(request, adapter)
    let events = adapter.scan(options)
    scanning = Task { @RadioLoop [weak self] in
      do throws(RadioError) {
        for try await event in events {
          guard !Task.isCancelled else { return }
          self?.handle(event, request)
        }
      } catch {
        if case .poweredOff = error {} else { Warning.log("the scan has failed: \(error)") }
      }
      guard !Task.isCancelled else { return }
      self?.presenceTimer?.cancel()
      self?.request = nil
      self?.save()
      self?.post { $0.scanEnded(request.number) }
    }
  }

  func stopScan() {
    presenceTimer?.cancel()
    scanning?.cancel()
    scanning = nil
    request = nil
    save()
  }

  /// Looks for silent devices at intervals, if the scan sets a time for that.
  private func watchPresence(_ request: ScanRequest, _ adapter: Adapter) {
    presenceTimer?.cancel()
    presence = nil
    guard let seconds = request.goneAfter else { return }
    let presence = Presence(
      after: .seconds(min(seconds, 1e9)), isToldOfEnds: adapter.reportsDepartures)
    self.presence = presence
    presenceTimer = Task { @RadioLoop [weak self, pause = presence.pause] in
      while (try? await Task.sleep(for: pause)) != nil {
        guard let self else { return }
        for peer in self.presence?.removeGone(at: .now) ?? [] { lose(peer) }
      }
    }
  }

  private func lose(_ peer: BluetoothAddress) {
    guard reported.remove(peer) != nil, let radio, let scan = request?.number else { return }
    let identifier = radio.identifier(of: peer)
    post { manager in manager.lost(identifier, peer, in: scan) }
  }

  func handle(_ event: ScanEvent, _ request: ScanRequest) {
    switch event {
    case .found(let discovery), .seen(let discovery):
      guard let radio, request.admits(discovery.data) else { return }
      if reported.count >= Self.reportedLimit, !reported.contains(discovery.address) {
        reported = []
      }
      let isNew = reported.insert(discovery.address).inserted
      presence?.received(discovery.address, at: .now)
      let identifier = radio.identifier(of: discovery.address)
      KnownPeers.met(
        identifier, discovery.address, name: discovery.data.localName, rssi: Int(discovery.rssi),
        services: discovery.data.serviceUUIDs)
      guard isNew || request.allowsDuplicates, undelivered.value < Self.discoveryLimit else {
        return
      }
      undelivered.add(1)
      deliver(discovery, identifier, in: request.number)
    case .gone(let address):
      if presence?.ended(address, at: .now) != true { lose(address) }
    case .missed: break
    }
  }

  private func deliver(_ discovery: Discovery, _ identifier: UUID, in scan: UInt64) {
    queue.async { [object, undelivered] in
      undelivered.add(-1)
      // The scan may have been stopped or replaced in the meantime.
      guard let manager = object.value.object, manager.own.value.scan == scan else { return }
      let peripheral = manager.peripheral(
        identifier, discovery.address, name: discovery.data.localName)
      if let name = discovery.data.localName {
        peripheral.shown.withLock { $0.name = name }
        peripheral.observers.check()
      }
      let data = AdvertisementDictionary.make(discovery)
      let rssi = NSNumber(value: Int(discovery.rssi))
      manager.own.value.discoveries?.add(
        CBDiscovery(peripheral: peripheral, advertisementData: data, rssi: rssi))
      manager.delegate?.centralManager(
        manager, didDiscover: peripheral, advertisementData: data, rssi: rssi)
    }
  }
}

struct ScanRequest: Sendable {
  var number: UInt64 = 0
  var services: [BluetoothUUID] = []
  var solicited: [BluetoothUUID] = []
  var allowsDuplicates = false
  /// Seconds.
  var timeout: Double?
  /// Seconds of silence after which a device has gone.
  var goneAfter: Double?

  func admits(_ data: AdvertisingData) -> Bool {
    if services.isEmpty, solicited.isEmpty { return true }
    return data.serviceUUIDs.contains(where: services.contains)
      || data.solicitedServiceUUIDs.contains(where: solicited.contains)
  }
}

/// The peers whose connection events an app gets.
struct ConnectionEventFilter: Sendable {
  var isEnabled = false
  var services: [BluetoothUUID] = []
  var peers: [UUID] = []

  func admits(_ identifier: UUID) -> Bool {
    guard isEnabled else { return false }
    if services.isEmpty, peers.isEmpty { return true }
    return peers.contains(identifier)
      || KnownPeers.services(of: identifier).contains(where: services.contains)
  }
}
