internal import Atto
import AttoGATT
import Foundation

/// The loop's side of a ``CBPeripheralManager``: its services, subscribers and advertisement.
@RadioLoop final class PublishingEngine: ManagerEngine<CBPeripheralManager, SavedPublications> {
  struct Entry {
    let characteristic: UncheckedBox<CBMutableCharacteristic>
    var subscribers: [ClientID: ClientCharacteristicConfiguration] = [:]
  }

  var entries: [AttributeHandle: Entry] = [:]
  /// In the order in which they were added.
  var services: [PublishedService] = []
  var centrals: [ClientID: CBCentral] = [:]
  var updates: [ClientID: UpdateQueue] = [:]
  var advertisement: Advertisement?
  var advertising: Task<Void, Never>?
  var channels: [CBL2CAPPSM: ChannelPublication] = [:]
  /// The changes of the database.
  let changes = TaskChain()

  var savedAdvertisement: SavedPublications.Advertisement?
  /// Whether restoration is under way. More is saved than published then, and it is not replaced.
  var isResuming = false

  nonisolated init(_ choice: CBRadio, _ queue: DispatchQueue?, _ options: [String: Any]?) {
    let identifier = OptionReader(options).text(CBPeripheralManagerOptionRestoreIdentifierKey)
    super.init(choice, queue, identifier.map { RestorationRecord(.peripheral, $0) })
  }

  /// Creates the queue limit for the manager's updates.
  nonisolated func makeWindow() -> UpdateWindow {
    UpdateWindow { [weak self] in
      self?.post { manager in
        manager.delegate?.peripheralManagerIsReady(toUpdateSubscribers: manager)
      }
    }
  }

  override func use(_ radio: RadioContext) {
    radio.host.join(self)
    super.use(radio)
  }

  override func restore(_ saved: SavedPublications) {
    isResuming = true
    post { manager in
      manager.slot.withLock { slot in
        slot.restoration = { [unowned manager] in manager.restore(saved, $0) }
      }
      manager.callDelegate()
    }
  }

  override func end() {
    stopAdvertising()
    removeAll()
    for queue in updates.values { queue.end() }
    updates = [:]
    channels = [:]
  }

  override func stateChanged(_ state: CBManagerState) {
    if state != .poweredOn { stopAdvertising() }
    let isInvalid = state.rawValue < CBManagerState.poweredOff.rawValue && state != .unknown
    if isInvalid { removeAll() }
    resumeIfPoweredOn()
    post { manager in
      manager.slot.withLock { $0.state = state }
      if state != .poweredOn { manager.own.withLock { $0.isAdvertising = false } }
      if isInvalid { manager.own.withLock { $0.services = [] } }
      manager.observers.check()
      manager.callDelegate()
    }
    if state != .poweredOn { unpublishAll() }
  }
}
