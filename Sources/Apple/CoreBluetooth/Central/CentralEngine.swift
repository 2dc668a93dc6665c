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
  /// Whether a saved state is not resumed yet, and must not be replaced.
  private var isResuming = false
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
      manager.slot.withLock { $0.state = state }
      manager.own.withLock { own in
        if state != .poweredOn { own.scan = nil }
        // A state below poweredOff invalidates all peripherals.
        if state.rawValue < CBManagerState.poweredOff.rawValue { own.peripherals = [:] }
      }
      manager.observers.check()
      if state != .poweredOn { manager.finishDiscoveries(CBError(.operationCancelled)) }
      manager.callDelegate()
    }
  }

  // MARK: Restoration

  override func restore(_ saved: SavedCentral) {
    isResuming = true
    post { manager in
      manager.slot.withLock { slot in
        slot.restoration = { [unowned manager] in manager.restore(saved, $0) }
      }
      manager.callDelegate()
    }
  }

  /// Resumes the connections and the scan of a former run as soon as the radio is on.
  func resume(_ peers: [(RemotePeripheral, SavedCentral.Peer)], _ request: ScanRequest?) {
    guard !isShutDown else { return }
    isResuming = false
    resumed = peers.map(\.0)
    for (remote, saved) in peers { remote.restore(saved) }
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
    guard record != nil, !isResuming else { return }
    let active = remotes.values.compactMap(\.object)
    let all = active + resumed.filter { one in !active.contains { $0 === one } }
    let peers = all.sorted { $0.identifier.uuidString < $1.identifier.uuidString }
      .map { ($0.saved, $0.object, $0.subscriptions) }
    let scan = request.map(SavedCentral.Scan.init)
    // The services may be many.
    save {
      SavedCentral(
        scan: scan,
        peers: peers.map { peer, object, notifying in
          var peer = peer
          peer.services = object.value.object?.savedServices(notifying: notifying)
          return peer
        })
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
