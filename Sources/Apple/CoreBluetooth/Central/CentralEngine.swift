internal import Atto
import Foundation

/// The loop's side of a ``CBCentralManager``: its scan and its peripherals.
@RadioLoop final class CentralEngine: ManagerEngine<CBCentralManager, SavedCentral> {
  /// Discoveries on their way to the app. Further ones are dropped: the next advertisement of the
  /// device comes soon.
  nonisolated static let discoveryLimit = 1024
  /// Addresses that a scan remembers as reported. Devices change their addresses and do not always
  /// announce their end; beyond the limit, all are new again.
  nonisolated static let reportedLimit = 16_384

  private var remotes: [UUID: WeakReference<RemotePeripheral>] = [:]
  /// The peripherals of a former run, until the radio is on.
  private var resumed: [RemotePeripheral] = []
  var connectionEvents = ConnectionEventFilter()

  // The scan.
  var request: ScanRequest?
  var scanning: Task<Void, Never>?
  var reported: Set<BluetoothAddress> = []
  var presence: Presence?
  var presenceTimer: Task<Void, Never>?
  let undelivered = Locked(0)

  nonisolated init(_ choice: CBRadio, _ queue: DispatchQueue?, _ options: [String: Any]?) {
    let identifier = OptionReader(options).text(CBCentralManagerOptionRestoreIdentifierKey)
    super.init(choice, queue, identifier.map { RestorationRecord(.central, $0) })
  }

  override func end() {
    scanning?.cancel()
    scanning = nil
    presenceTimer?.cancel()
    for remote in remotes.values { remote.object?.released() }
    remotes = [:]
  }

  override func stateChanged(_ state: CBManagerState) {
    if state != .poweredOn {
      presenceTimer?.cancel()
      scanning?.cancel()
      scanning = nil
    } else {
      resumeIfPoweredOn()
    }
    post { manager in
      manager.shown.value = state
      manager.own.withLock { own in
        if state != .poweredOn { own.scan = nil }
        // A state below poweredOff invalidates all peripherals.
        if state.rawValue < CBManagerState.poweredOff.rawValue { own.peripherals = [:] }
      }
      if state != .poweredOn { manager.finishDiscoveries(CBError(.operationCancelled)) }
      manager.delegate?.centralManagerDidUpdateState(manager)
    }
  }

  // MARK: Restoration

  override func restore(_ saved: SavedCentral) { post { $0.restore(saved) } }

  /// Resumes the connections and the scan of a former run as soon as the radio is on.
  func resume(
    _ peers: [(RemotePeripheral, reconnects: Bool, [SavedSubscription])], _ request: ScanRequest?
  ) {
    guard !isShutDown else { return }
    resumed = peers.map(\.0)
    for (remote, reconnects, subscriptions) in peers {
      remote.restore(subscriptions, reconnects: reconnects)
    }
    self.request = request
    whenPoweredOn { [weak self] in
      guard let self else { return }
      let waiting = resumed
      resumed = []
      for remote in waiting { remote.resume() }
      if let request { scan(request) }
    }
    save()
  }

  func save() {
    save {
      let active = remotes.values.compactMap(\.object)
      let all = active + resumed.filter { one in !active.contains { $0 === one } }
      return SavedCentral(
        scan: request.map(SavedCentral.Scan.init),
        peers: all.sorted { $0.identifier.uuidString < $1.identifier.uuidString }.map(\.saved))
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

  override func connectionEvent(_ event: CBConnectionEvent, _ peer: BluetoothAddress) {
    guard let radio else { return }
    let identifier = radio.identifier(of: peer)
    guard connectionEvents.admits(identifier) else { return }
    post { manager in
      let peripheral = manager.peripheral(
        identifier, peer, name: KnownPeers.peer(identifier)?.name)
      manager.delegate?.centralManager(
        manager, connectionEventDidOccur: event, for: peripheral)
    }
  }
}
