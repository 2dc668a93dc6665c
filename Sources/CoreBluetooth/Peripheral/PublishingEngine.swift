internal import Atto
import Foundation

/// The loop's side of a ``CBPeripheralManager``: what it has published, who has subscribed, and
/// what is advertised.
@RadioLoop final class PublishingEngine {
  /// A published value.
  struct Entry {
    let characteristic: Carried<CBMutableCharacteristic>
    var subscribers: [ClientID: ClientCharacteristicConfiguration] = [:]
  }

  /// The app's side.
  nonisolated let object = Guarded(WeakReference<CBPeripheralManager>())
  private let choice: CBRadio
  let queue: CallbackQueue
  private(set) var station: Station?
  private var box: StationObserverBox?
  var entries: [AttributeHandle: Entry] = [:]
  var services: [ObjectIdentifier: (handle: AttributeHandle, values: [AttributeHandle])] = [:]
  /// The objects that stand for clients, for as long as these are connected.
  var centrals: [ClientID: CBCentral] = [:]
  var updates: [ClientID: UpdateQueue] = [:]
  var advertisement: Advertisement?
  var advertising: Task<Void, Never>?
  /// The PSMs that are published.
  var channels: [CBL2CAPPSM: ChannelPublication] = [:]
  var isShutDown = false
  /// The last of the changes that are carried out one after another.
  var changes: Task<Void, Never>?

  /// Where state is kept, if the app wants that.
  let file: RestorationFile?
  var kept = KeptPublications()
  /// What was added, in order, as far as it is kept.
  var keptOrder: [ObjectIdentifier] = []
  /// Whether the file has more than was taken up again, and is left as it is.
  var isResuming = false
  /// What a former run had and this one has not begun yet.
  var toResume: (() -> Void)?

  nonisolated init(_ choice: CBRadio, _ queue: CallbackQueue, _ options: [String: Any]?) {
    self.choice = choice
    self.queue = queue
    file = OptionReader(options).text(CBPeripheralManagerOptionRestoreIdentifierKey).map {
      RestorationFile("peripheral", $0)
    }
  }

  /// Calls the app on its queue, unless it has let go of the manager.
  nonisolated func post(_ body: @escaping @Sendable (CBPeripheralManager) -> Void) {
    let object = object
    queue.post {
      if let manager = object.value.object { body(manager) }
    }
  }

  /// The room for the manager's updates, which tells it when there is some again.
  nonisolated func makeWindow() -> UpdateWindow {
    UpdateWindow { [weak self] in
      self?.post { manager in
        manager.delegate?.peripheralManagerIsReady(toUpdateSubscribers: manager)
      }
    }
  }

  func start() {
    guard !isShutDown else { return }
    // Before the state is told, and so before anything else.
    if let kept = file?.load(KeptPublications.self) {
      isResuming = true
      post { $0.restore(kept) }
    }
    let station = Station.of(choice)
    self.station = station
    station.host.join(self)
    let box = StationObserverBox(changed: { [weak self] in self?.stateChanged($0) })
    self.box = box
    station.observe(box)
  }

  /// The app has released the manager.
  func shutDown() {
    isShutDown = true
    stopAdvertising()
    removeAll()
    for queue in updates.values { queue.end() }
    updates = [:]
    channels = [:]
    box = nil
    station = nil
    file?.remove()
  }

  private func stateChanged(_ state: CBManagerState) {
    if state != .poweredOn { stopAdvertising() }
    let isInvalid = state.rawValue < CBManagerState.poweredOff.rawValue && state != .unknown
    if isInvalid { removeAll() }
    if state == .poweredOn { toResume?() }
    post { manager in
      manager.shown.value = state
      if state != .poweredOn { manager.own.withLock { $0.isAdvertising = false } }
      if isInvalid { manager.own.withLock { $0.services = [] } }
      manager.delegate?.peripheralManagerDidUpdateState(manager)
    }
    if state != .poweredOn { unpublishAll() }
  }
}
