internal import Atto
import Foundation

/// The loop's side of a ``CBCentralManager``: its scan, and the peripherals that it wants.
@RadioLoop final class CentralEngine {
  /// Discoveries on their way to the app; further ones are dropped, since the next advertisement
  /// of the same device comes soon.
  nonisolated static let discoveryLimit = 1024

  /// The app's side.
  nonisolated let object = Guarded(WeakReference<CBCentralManager>())
  private let choice: CBRadio
  private let queue: CallbackQueue
  private(set) var station: Station?
  private var box: StationObserverBox?
  private var scanning: Task<Void, Never>?
  /// Addresses that a scan remembers to have told of. Devices change theirs, and not of each is
  /// it told that it has gone; beyond, all are new again.
  nonisolated static let toldLimit = 16_384

  /// The addresses that the scan has told of.
  private(set) var told: Set<BluetoothAddress> = []
  private var presence: Presence?
  private var looking: Task<Void, Never>?
  private var remotes: [UUID: WeakReference<RemotePeripheral>] = [:]
  private let undelivered = Guarded(0)
  var connectionEvents = ConnectionEventWish()
  private var isShutDown = false
  /// Where state is kept, if the app wants that.
  private let file: RestorationFile?
  private(set) var wish: ScanWish?
  /// What a former run had and this one has not begun yet.
  private var toResume: (() -> Void)?
  private var resumed: [RemotePeripheral] = []

  nonisolated init(_ choice: CBRadio, _ queue: CallbackQueue, _ options: [String: Any]?) {
    self.choice = choice
    self.queue = queue
    file = OptionReader(options).text(CBCentralManagerOptionRestoreIdentifierKey).map {
      RestorationFile("central", $0)
    }
  }

  /// Calls the app on its queue, unless it has let go of the manager.
  nonisolated func post(_ body: @escaping @Sendable (CBCentralManager) -> Void) {
    let object = object
    queue.post {
      if let manager = object.value.object { body(manager) }
    }
  }

  func start() {
    guard !isShutDown else { return }
    // Before the state is told, and so before anything else.
    if let kept = file?.load(KeptCentral.self) { post { $0.restore(kept) } }
    let station = Station.of(choice)
    self.station = station
    let box = StationObserverBox(
      changed: { [weak self] in self?.stateChanged($0) },
      connectionEvent: { [weak self] in self?.connectionEvent($0, $1) })
    self.box = box
    station.observe(box)
  }

  /// The app has released the manager.
  func shutDown() {
    isShutDown = true
    scanning?.cancel()
    scanning = nil
    looking?.cancel()
    for remote in remotes.values { remote.object?.released() }
    remotes = [:]
    box = nil
    station = nil
    file?.remove()
  }

  // MARK: Restoration

  /// Goes on with what was kept, as soon as the radio is on.
  func resume(_ peers: [(RemotePeripheral, Bool, [KeptSubscription])], _ wish: ScanWish?) {
    guard !isShutDown else { return }
    resumed = peers.map(\.0)
    for (remote, reconnects, subscriptions) in peers {
      remote.restore(subscriptions, reconnects: reconnects)
    }
    self.wish = wish
    toResume = { [weak self] in
      guard let self else { return }
      toResume = nil
      let waiting = resumed
      resumed = []
      for remote in waiting { remote.resume() }
      if let wish { scan(wish) }
    }
    if station?.state == .poweredOn { toResume?() }
    save()
  }

  /// Keeps what is wanted now.
  func save() {
    guard let file, !isShutDown else { return }
    var kept = KeptCentral()
    kept.scan = wish.map {
      KeptCentral.Scan(
        services: $0.services.map(\.fullDescription),
        solicited: $0.solicited.map(\.fullDescription), allowsDuplicates: $0.allowsDuplicates)
    }
    let wanted = remotes.values.compactMap(\.object)
    let all = wanted + resumed.filter { one in !wanted.contains { $0 === one } }
    kept.peers = all.sorted { $0.identifier.uuidString < $1.identifier.uuidString }
      .map(\.kept)
    file.save(kept)
  }

  private func stateChanged(_ state: CBManagerState) {
    if state != .poweredOn {
      looking?.cancel()
      scanning?.cancel()
      scanning = nil
    } else {
      toResume?()
    }
    post { manager in
      manager.shown.value = state
      manager.own.withLock { own in
        if state != .poweredOn { own.scan = nil }
        // Below poweredOff nothing that the app holds is valid any more.
        if state.rawValue < CBManagerState.poweredOff.rawValue { own.peripherals = [:] }
      }
      if state != .poweredOn { manager.finishDiscoveries(CBError(.operationCancelled)) }
      manager.delegate?.centralManagerDidUpdateState(manager)
    }
  }

  // MARK: Scanning

  func scan(_ wish: ScanWish) {
    scanning?.cancel()
    self.wish = wish
    save()
    guard let station, station.state == .poweredOn, let adapter = station.adapter else { return }
    var options = ScanOptions()
    options.reportsDuplicates = wish.allowsDuplicates || wish.goneAfter != nil
    options.timeout = wish.timeout.map { .seconds($0) }
    told = []
    watchPresence(wish, adapter)
    let events = adapter.scan(options)
    scanning = Task { @RadioLoop [weak self] in
      do throws(RadioError) {
        for try await event in events {
          guard !Task.isCancelled else { return }
          self?.take(event, wish)
        }
      } catch {
        if case .poweredOff = error {} else { Misuse.log("the scan has ended: \(error)") }
      }
      guard !Task.isCancelled else { return }
      self?.looking?.cancel()
      self?.wish = nil
      self?.save()
      self?.post { $0.scanEnded(wish.number) }
    }
  }

  func stopScan() {
    looking?.cancel()
    scanning?.cancel()
    scanning = nil
    wish = nil
    save()
  }

  /// Looks now and then who is silent, if the scan says for how long one may be.
  private func watchPresence(_ wish: ScanWish, _ adapter: any Adapter) {
    looking?.cancel()
    presence = nil
    guard let seconds = wish.goneAfter else { return }
    let presence = Presence(
      after: .seconds(min(seconds, 1e9)), isToldOfEnds: adapter is AirAdapter)
    self.presence = presence
    looking = Task { @RadioLoop [weak self, pause = presence.pause] in
      while (try? await Task.sleep(for: pause)) != nil {
        guard let self else { return }
        for peer in self.presence?.takeGone(at: .now) ?? [] { lose(peer) }
      }
    }
  }

  private func lose(_ peer: BluetoothAddress) {
    guard told.remove(peer) != nil, let station, let scan = wish?.number else { return }
    let identifier = station.identifier(of: peer)
    post { manager in manager.lost(identifier, peer, in: scan) }
  }

  func take(_ event: ScanEvent, _ wish: ScanWish) {
    switch event {
    case .found(let discovery), .seen(let discovery):
      guard let station, wish.admits(discovery.data) else { return }
      if told.count >= Self.toldLimit, !told.contains(discovery.address) { told = [] }
      let isNew = told.insert(discovery.address).inserted
      presence?.received(discovery.address, at: .now)
      let identifier = station.identifier(of: discovery.address)
      KnownPeers.met(
        identifier, discovery.address, name: discovery.data.localName, rssi: Int(discovery.rssi))
      ConnectedPeers.advertised(identifier, discovery.data.serviceUUIDs)
      guard isNew || wish.allowsDuplicates, undelivered.value < Self.discoveryLimit else { return }
      undelivered.withLock { $0 += 1 }
      deliver(discovery, identifier, in: wish.number)
    case .gone(let address):
      if presence?.ended(address, at: .now) != true { lose(address) }
    case .missed: break
    }
  }

  private func deliver(_ discovery: Discovery, _ identifier: UUID, in scan: UInt64) {
    let undelivered = undelivered
    let object = object
    queue.post {
      undelivered.withLock { $0 -= 1 }
      // One that comes after stopScan() would surprise, and one of a former scan may be what the
      // app does not look for any more.
      guard let manager = object.value.object, manager.own.value.scan == scan else { return }
      let peripheral = manager.peripheral(
        identifier, discovery.address, name: discovery.data.localName)
      if let name = discovery.data.localName { peripheral.shown.withLock { $0.name = name } }
      let data = AdvertisementDictionary.make(discovery)
      let rssi = NSNumber(value: Int(discovery.rssi))
      manager.own.value.discoveries?.add(
        CBDiscovery(peripheral: peripheral, advertisementData: data, rssi: rssi))
      manager.delegate?.centralManager(
        manager, didDiscover: peripheral, advertisementData: data, rssi: rssi)
    }
  }

  // MARK: Peripherals

  func remember(_ remote: RemotePeripheral) {
    remotes[remote.identifier] = WeakReference(remote)
    save()
  }

  func forget(_ remote: RemotePeripheral) {
    remotes[remote.identifier] = nil
    resumed.removeAll { $0 === remote }
    save()
  }

  private func connectionEvent(_ event: CBConnectionEvent, _ peer: BluetoothAddress) {
    guard connectionEvents.isWanted, let station else { return }
    let identifier = station.identifier(of: peer)
    guard connectionEvents.admits(identifier) else { return }
    post { manager in
      let name = KnownPeers.peer(identifier)?.name
      let peripheral = manager.peripheral(identifier, peer, name: name)
      manager.delegate?.centralManager(
        manager, connectionEventDidOccur: event, for: peripheral)
    }
  }
}

/// What a scan is to find.
struct ScanWish: Sendable {
  /// Which of its manager's scans.
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

/// Which peers' connections are to be told.
struct ConnectionEventWish: Sendable {
  var isWanted = false
  var services: [BluetoothUUID] = []
  var peers: [UUID] = []

  func admits(_ identifier: UUID) -> Bool {
    if services.isEmpty, peers.isEmpty { return true }
    return peers.contains(identifier)
      || ConnectedPeers.services(of: identifier).contains(where: services.contains)
  }
}
