internal import Atto
import AttoEventLoop
import Foundation

/// The loop's side of a ``CBPeripheral``: the connection of one manager to one peer.
///
/// # Theory
/// The app's side (``CBPeripheral``) changes only on the app's queue, in blocks that this side posts
/// there. So the app sees the state that belongs to each callback. A call of the app is registered
/// on its side and passed to this side; its result removes the registration and calls back. The
/// block that reports the end of a connection removes all remaining registrations and fails them
/// first. So every call has one callback, and none comes after the end.
@RadioLoop final class RemotePeripheral {
  nonisolated let address: BluetoothAddress
  nonisolated let identifier: UUID
  nonisolated let queue: DispatchQueue
  nonisolated let object = Locked(WeakReference<CBPeripheral>())
  let manager: CentralEngine
  private(set) var link: SharedLink?
  private(set) var isConnected = false
  private var reconnects = false
  private var delay: LoopTimer?

  // Operations.
  var outgoing = OutgoingQueue()
  var isWaitingForRoom = false
  /// One at a time, so that callbacks come in the order of the calls even if a call takes several
  /// procedures.
  var operations = TaskChain()
  var underWay: [UInt64: Task<Void, Never>] = [:]
  /// The number of the operation that runs.
  var current: UInt64 = 0
  /// The operation for which the security of the link is being raised, and the peer's refusal. It gets
  /// this error if pairing fails, which ends the link.
  var refusal: (call: UInt64, error: CBATTError)?

  // Subscriptions.
  /// The active subscriptions; after a restoration, those to repeat.
  var subscriptions: Set<AttributeHandle> = []
  /// The services of a former run, until they were compared with the peer's.
  private var restored: [SavedRemoteService]?
  /// Values that the app has subscribed to with `setNotifyValue`. The end of a sequence leaves them.
  var appSubscriptions: Set<AttributeHandle> = []
  /// The value that is being subscribed to, and the callbacks for values that arrive meanwhile. The
  /// peer may send them right behind its response, and the app must hear of the subscription first.
  var subscribing: (handle: AttributeHandle, calls: [@Sendable () -> Void])?

  nonisolated init(_ identifier: UUID, _ address: BluetoothAddress, _ manager: CentralEngine) {
    self.identifier = identifier
    self.address = address
    queue = manager.queue
    self.manager = manager
  }

  /// Calls the app on its queue, unless it has released the manager or the peripheral.
  nonisolated func post(_ body: @escaping @Sendable (CBCentralManager, CBPeripheral) -> Void) {
    queue.async { [object] in
      guard let peripheral = object.value.object, let manager = peripheral.manager else { return }
      body(manager, peripheral)
    }
  }

  /// Fails all pending calls of the peripheral, then calls the app as ``post(_:)`` does. Without a
  /// manager the delegate is not called, but awaited results arrive.
  private func postEnd(
    _ error: CBError, refusal: (call: UInt64, error: CBATTError)? = nil,
    isReconnecting: Bool = false,
    _ body: @escaping @Sendable (CBCentralManager, CBPeripheral) -> Void = { _, _ in }
  ) {
    queue.async { [object] in
      guard let peripheral = object.value.object else { return }
      if let refusal { peripheral.removeCall(refusal.call)?.fail(peripheral, refusal.error) }
      peripheral.endConnection(failing: error, isReconnecting: isReconnecting)
      if let manager = peripheral.manager { body(manager, peripheral) }
    }
  }

  // MARK: Connecting

  func connect(after delay: Duration, reconnects: Bool) {
    self.reconnects = reconnects
    manager.remember(self)
    if isConnected {
      return post { manager, peripheral in
        peripheral.finishOpenings()
        manager.delegate?.centralManager(manager, didConnect: peripheral)
      }
    }
    guard link == nil, self.delay == nil else { return }
    guard delay > .zero else { return begin() }
    self.delay = LoopTimer(after: delay, on: RadioLoop.loop) { [weak self] in
      RadioLoop.assumeIsolated {
        self?.delay = nil
        self?.begin()
      }
    }
  }

  private func begin() {
    guard let radio = manager.radio, radio.state == .poweredOn else {
      return failedToConnect(CBError(.operationCancelled))
    }
    let link = radio.link(to: address)
    self.link = link
    link.join(self)
  }

  /// The app has cancelled the connection or the attempt.
  func cancel() {
    let wasActive = link != nil || delay != nil
    leave()
    guard wasActive else { return }
    manager.forget(self)
    postEnd(CBError(.operationCancelled)) { manager, peripheral in
      manager.delegate?.centralManager(
        manager, didDisconnectPeripheral: peripheral, timestamp: CFAbsoluteTimeGetCurrent(),
        isReconnecting: false,
        error: nil)
    }
  }

  /// The app has released the peripheral or the manager: as ``cancel()``, without a callback.
  func released() {
    leave()
    manager.forget(self)
    // The app may have released only the manager, and await a result of the peripheral.
    postEnd(CBError(.operationCancelled))
  }

  private func leave() {
    delay?.cancel()
    delay = nil
    isConnected = false
    reconnects = false
    refusal = nil
    dropOperations()
    subscriptions = []
    appSubscriptions = []
    restored = nil
    let link = link
    self.link = nil
    link?.leave(self)
  }

  private func reportConnected(_ mtu: Int, keepsServices: Bool) {
    post { manager, peripheral in
      peripheral.beginConnection(mtu: mtu, keepsServices: keepsServices)
      manager.delegate?.centralManager(manager, didConnect: peripheral)
    }
  }

  // MARK: Restoration

  /// Without the services.
  var saved: SavedCentral.Peer {
    SavedCentral.Peer(
      identifier: identifier, address: "\(address)", name: KnownPeers.name(of: identifier),
      reconnects: reconnects)
  }

  func restore(_ saved: SavedCentral.Peer) {
    reconnects = saved.reconnects
    restored = saved.services
    let characteristics = (saved.services ?? []).flatMap { $0.characteristics ?? [] }
    subscriptions = Set(characteristics.filter(\.isNotifying).compactMap(\.found?.valueHandle))
  }

  func resume() { connect(after: .zero, reconnects: reconnects) }
}

extension RemotePeripheral: LinkUser {
  func connected(mtu: Int) {
    isConnected = true
    KnownPeers.met(identifier, address, name: nil)
    KnownPeers.save(identifier)
    manager.remember(self)
    guard let services = restored.take(), let connection = link?.connection else {
      return reportConnected(mtu, keepsServices: false)
    }
    Task { @RadioLoop in
      let isSame = await resume(services, connection)
      if !isSame { subscriptions = [] }
      // If the connection has ended meanwhile, its end is reported elsewhere.
      if isConnected, link?.connection === connection {
        reportConnected(mtu, keepsServices: isSame)
      }
    }
  }

  func failedToConnect(_ error: CBError) {
    leave()
    manager.forget(self)
    postEnd(error) { manager, peripheral in
      manager.delegate?.centralManager(manager, didFailToConnect: peripheral, error: error)
    }
  }

  func disconnected(_ error: CBError) {
    let (wasReconnecting, refusal) = (reconnects, refusal)
    let isReconnecting = reconnects && manager.radio?.state == .poweredOn
    leave()
    if !isReconnecting { manager.forget(self) }
    postEnd(error, refusal: refusal, isReconnecting: isReconnecting) { manager, peripheral in
      manager.delegate?.centralManager(
        manager, didDisconnectPeripheral: peripheral, timestamp: CFAbsoluteTimeGetCurrent(),
        isReconnecting: isReconnecting, error: error)
    }
    guard isReconnecting else { return }
    reconnects = wasReconnecting
    begin()
  }

  func named(_ name: String) {
    KnownPeers.met(identifier, address, name: name)
    post { _, peripheral in
      let isNew = peripheral.shown.withLock { shown in
        defer { shown.name = name }
        return shown.name != name
      }
      guard isNew else { return }
      peripheral.observers.check()
      peripheral.delegate?.peripheralDidUpdateName(peripheral)
    }
  }

  func servicesChanged(_ range: ClosedRange<UInt16>) {
    post { _, peripheral in
      let invalid = peripheral.invalidate(range)
      peripheral.delegate?.peripheral(peripheral, didModifyServices: invalid)
    }
  }

  func receive(
    _ handle: AttributeHandle, _ value: Data, _ delivered: @escaping @Sendable () -> Void
  ) {
    // Runs when the last holder of the value releases it.
    let delivery = ReleaseAction(delivered)
    let call: @Sendable () -> Void = { [object] in
      guard let peripheral = object.value.object, peripheral.manager != nil,
        peripheral.state == .connected,
        let characteristic = peripheral.characteristic(valueHandle: handle)
      else { return }
      characteristic.state.withLock { $0.value = value }
      peripheral.deliver(handle, value, delivery)
      peripheral.delegate?.peripheral(
        peripheral, didUpdateValueFor: characteristic, error: nil)
    }
    if subscribing?.handle == handle {
      subscribing?.calls.append(call)
    } else {
      queue.async(execute: call)
    }
  }
}
