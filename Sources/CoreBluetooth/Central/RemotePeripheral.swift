internal import Atto
import Foundation

/// The loop's side of a ``CBPeripheral``: what one manager wants of one peer.
///
/// # Theory
/// The app's side (``CBPeripheral``) changes only on the app's queue, in the blocks that this side
/// posts there: so the app sees in each callback the state that the callback is about. A call of
/// the app is registered on its side and handed over; its result takes the registration and
/// calls back. A block that tells the end of a connection takes all registrations that are left
/// and fails them first. So every call has one callback, and none comes after the end.
@RadioLoop final class RemotePeripheral {
  nonisolated let address: BluetoothAddress
  nonisolated let identifier: UUID
  nonisolated let queue: CallbackQueue
  /// The app's side.
  nonisolated let object = Guarded(WeakReference<CBPeripheral>())
  private let manager: CentralEngine
  private(set) var link: PeerLink?
  private(set) var isConnected = false
  private var reconnects = false
  private var delay: OneTimer?
  private var outgoing = Outgoing()
  private var isWaitingForRoom = false
  /// Operations whose turn on the link has come, of which one is under way at a time: so their
  /// callbacks come in the order of the calls, though one may be several procedures.
  private var operations = TurnQueue()
  private var underWay: [UInt64: Task<Void, Never>] = [:]
  /// The subscriptions that stand; after a restoration those that are to be made again.
  private var subscriptions: [KeptSubscription] = []
  private var isRestoring = false
  /// Values that the app itself has subscribed to: the end of a sequence leaves them.
  private var wished: Set<AttributeHandle> = []
  /// The value that is being subscribed to, and the calls of the app with what has come of it: the
  /// app is told first that it is subscribed, though the peer may send behind its response, or
  /// even before, what is here before the response has gone through all that asked for it.
  private var subscribing: (handle: AttributeHandle, calls: [@Sendable () -> Void])?

  nonisolated init(
    _ identifier: UUID, _ address: BluetoothAddress, _ queue: CallbackQueue,
    _ manager: CentralEngine
  ) {
    self.identifier = identifier
    self.address = address
    self.queue = queue
    self.manager = manager
  }

  /// Calls the app on its queue, unless it has let go of the manager or of the peripheral.
  nonisolated func post(_ body: @escaping @Sendable (CBCentralManager, CBPeripheral) -> Void) {
    let object = object
    queue.post {
      guard let peripheral = object.value.object, let manager = peripheral.manager else { return }
      body(manager, peripheral)
    }
  }

  /// Ends all that the peripheral's calls wait for, and then calls the app, as ``post(_:)`` does.
  /// Without its manager nobody is called any more, but who awaits a result gets one.
  nonisolated private func postEnd(
    _ error: CBError, isReconnecting: Bool = false,
    _ body: @escaping @Sendable (CBCentralManager, CBPeripheral) -> Void = { _, _ in }
  ) {
    let object = object
    queue.post {
      guard let peripheral = object.value.object else { return }
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
        peripheral.tellOpen()
        manager.delegate?.centralManager(manager, didConnect: peripheral)
      }
    }
    guard link == nil, self.delay == nil else { return }
    guard delay > .zero else { return begin() }
    self.delay = OneTimer(after: delay, on: RadioLoop.loop) { [weak self] in
      RadioLoop.assumeIsolated {
        self?.delay = nil
        self?.begin()
      }
    }
  }

  private func begin() {
    guard let station = manager.station, station.state == .poweredOn else {
      return failedToConnect(CBError(.operationCancelled))
    }
    let link = station.link(to: address)
    self.link = link
    link.want(self)
  }

  // MARK: Restoration

  /// What is kept of it.
  var kept: KeptCentral.Peer {
    KeptCentral.Peer(
      identifier: identifier, address: "\(address)", name: KnownPeers.peer(identifier)?.name,
      reconnects: reconnects, subscriptions: subscriptions)
  }

  func restore(_ subscriptions: [KeptSubscription], reconnects: Bool) {
    self.subscriptions = subscriptions
    self.reconnects = reconnects
    isRestoring = true
  }

  /// Connects as a former run has wished.
  func resume() { connect(after: .zero, reconnects: reconnects) }

  func note(_ subscription: KeptSubscription, _ isWanted: Bool) {
    subscriptions.removeAll { $0.valueHandle == subscription.valueHandle }
    if isWanted { subscriptions.append(subscription) }
    manager.save()
  }

  /// Not for a connection that has ended in the meantime, and the subscription with it.
  func wish(_ handle: AttributeHandle, _ isWished: Bool) {
    if isWished, isSubscribed(handle) { wished.insert(handle) } else { wished.remove(handle) }
  }

  func isWished(_ handle: AttributeHandle) -> Bool { wished.contains(handle) }

  /// Whether a sequence follows a value.
  func isListened(_ handle: AttributeHandle) -> Bool {
    object.value.object?.shown.value.listeners[handle] != nil
  }

  func isSubscribed(_ handle: AttributeHandle) -> Bool {
    link?.isSubscribed(self, handle) ?? false
  }

  /// Subscribes again to what a former run had subscribed to, where the peer still has it.
  ///
  /// - Returns: whether the peer's services are as they were.
  private func subscribeAgain(_ connection: Connection) async -> Bool {
    for kept in subscriptions {
      guard let range = kept.range, let wanted = kept.characteristic,
        let found = try? await connection.perform(DiscoverCharacteristics(in: range)),
        let same = found.first(where: { $0.valueHandle == wanted.valueHandle }),
        same.uuid == wanted.uuid, same.properties == wanted.properties
      else { return false }
      do throws(AttoError) {
        try await Self.secured(connection, self) { (connection, remote) async throws(AttoError) in
          try await CBPeripheral.subscribe(true, same, connection, remote)
        }
      } catch {
        return false
      }
      wished.insert(same.valueHandle)
    }
    return true
  }

  /// The app does not want the connection, or the wish for it, any more.
  func cancel() {
    let wasWanted = link != nil || delay != nil
    letGo()
    guard wasWanted else { return }
    manager.forget(self)
    postEnd(CBError(.operationCancelled)) { manager, peripheral in
      manager.delegate?.centralManager(
        manager, didDisconnectPeripheral: peripheral, timestamp: Self.now, isReconnecting: false,
        error: nil)
    }
  }

  /// As ``cancel()``, without a word: the app has released the peripheral or the manager.
  func released() {
    letGo()
    manager.forget(self)
    // The manager may have gone first, and this object live on.
    postEnd(CBError(.operationCancelled))
  }

  private func letGo() {
    delay?.cancel()
    delay = nil
    isConnected = false
    reconnects = false
    outgoing = Outgoing()
    operations.end()
    subscriptions = []
    wished = []
    isRestoring = false
    let link = link
    self.link = nil
    link?.leave(self)
  }

  // MARK: What the link tells

  func connected(mtu: Int) {
    isConnected = true
    KnownPeers.met(identifier, address, name: nil)
    KnownPeers.remember(identifier)
    manager.remember(self)
    guard isRestoring, let connection = link?.connection else {
      return tellConnected(mtu, keepsServices: false)
    }
    isRestoring = false
    Task { @RadioLoop in
      let isSame = await subscribeAgain(connection)
      if !isSame { subscriptions = [] }
      // Otherwise the end of the connection was told already, or will be.
      if isConnected, link?.connection === connection {
        tellConnected(mtu, keepsServices: isSame)
      }
    }
  }

  private func tellConnected(_ mtu: Int, keepsServices: Bool) {
    post { manager, peripheral in
      peripheral.beginConnection(mtu: mtu, keepsServices: keepsServices)
      manager.delegate?.centralManager(manager, didConnect: peripheral)
    }
  }

  func failedToConnect(_ error: CBError) {
    letGo()
    manager.forget(self)
    postEnd(error) { manager, peripheral in
      manager.delegate?.centralManager(manager, didFailToConnect: peripheral, error: error)
    }
  }

  /// The link has ended without our doing.
  func disconnected(_ error: CBError) {
    let isReconnecting = reconnects && manager.station?.state == .poweredOn
    let wasReconnecting = reconnects
    letGo()
    if !isReconnecting { manager.forget(self) }
    postEnd(error, isReconnecting: isReconnecting) { manager, peripheral in
      manager.delegate?.centralManager(
        manager, didDisconnectPeripheral: peripheral, timestamp: Self.now,
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
      peripheral.delegate?.peripheralDidUpdateName(peripheral)
    }
  }

  func servicesChanged(_ range: ClosedRange<UInt16>) {
    post { _, peripheral in
      let invalid = peripheral.invalidate(range)
      peripheral.delegate?.peripheral(peripheral, didModifyServices: invalid)
    }
  }

  /// - Parameter delivered: called when the app has had it, or cannot have it.
  func receive(
    _ handle: AttributeHandle, _ value: Data, _ delivered: @escaping @Sendable () -> Void
  ) {
    let object = object
    // Told when the last who has it lets go of it.
    let delivery = Lease(delivered)
    let call: @Sendable () -> Void = {
      guard let peripheral = object.value.object, peripheral.manager != nil,
        peripheral.state == .connected,
        let characteristic = peripheral.characteristic(valueHandle: handle)
      else { return }
      characteristic.state.withLock { $0.value = value }
      peripheral.hear(handle, value, delivery)
      peripheral.delegate?.peripheral(
        peripheral, didUpdateValueFor: characteristic, error: nil)
    }
    if subscribing?.handle == handle { subscribing?.calls.append(call) } else { queue.post(call) }
  }

  /// Keeps what comes of a value until the operation that is under way has told of its end. How
  /// much that may be, ``PeerLink`` limits: it has not been delivered.
  func keepValues(of handle: AttributeHandle) { subscribing = (handle, []) }

  private func giveKeptValues() {
    guard let calls = subscribing?.calls else { return }
    subscribing = nil
    for call in calls { queue.post(call) }
  }

  nonisolated private static var now: CFAbsoluteTime { Date().timeIntervalSinceReferenceDate }

  // MARK: Operations

  typealias Work<Output> =
    @RadioLoop @Sendable (Connection, RemotePeripheral)
    async throws(AttoError) -> Output

  /// Begins an operation behind those that were called before. Its result is posted, if the
  /// registration of this number is still there.
  func perform<Output: Sendable>(
    _ number: UInt64, _ work: @escaping Work<Output>,
    _ done: Carried<(CBPeripheral, Result<Output, any Error>) -> Void>
  ) {
    outgoing.append(
      .start { [weak self] connection, turn in
        self?.underWay[number] = Task { @RadioLoop in
          guard let self else { return }
          defer {
            self.underWay[number] = nil
            self.giveKeptValues()
            self.operations.ended(turn)
          }
          // One that was cancelled while it waited.
          guard self.object.value.object?.isRegistered(number) ?? false else { return }
          // What the end of the connection has overtaken is told with that end, be it something
          // that needs no peer.
          guard connection.endReasonNow == nil else { return }
          let result: Result<Output, any Error>
          do throws(AttoError) {
            result = .success(try await Self.secured(connection, self, work))
          } catch {
            // The end of the connection is told with all that it ends.
            if connection.endReasonNow != nil { return }
            result = .failure(ErrorMapping.error(of: error))
          }
          self.post { _, peripheral in
            if peripheral.take(number) { done.content(peripheral, result) }
          }
        }
      })
    pump()
  }

  /// A peer that wants more security gets it, as far as both can, and is asked again.
  private static func secured<Output>(
    _ connection: Connection, _ remote: RemotePeripheral, _ work: Work<Output>
  ) async throws(AttoError) -> Output {
    for level in [SecurityLevel.medium, .high] {
      do throws(AttoError) {
        return try await work(connection, remote)
      } catch {
        guard case .refused(let response) = error,
          response.code == .insufficientEncryption
            || response.code == .insufficientAuthentication,
          connection.securityNow.level < level
        else { throw error }
        try await connection.raiseSecurity(to: level)
      }
    }
    return try await work(connection, remote)
  }

  /// Nobody waits for this operation any more.
  func abandon(_ number: UInt64) { underWay[number]?.cancel() }

  /// Writes without a response, in the order of the calls.
  func command(_ handle: AttributeHandle, _ value: Data) {
    outgoing.append(.command(handle, Array(value)))
    pump()
  }

  private func pump() {
    guard let connection = link?.connection, isConnected else {
      // What was registered is failed by the block that tells the end.
      outgoing = Outgoing()
      operations.end()
      return
    }
    while !isWaitingForRoom, let next = outgoing.first {
      switch next {
      case .start(let body):
        outgoing.removeFirst()
        operations.append { turn in body(connection, turn) }
      case .command(let handle, let value):
        do throws(AttoError) {
          guard try connection.writeWithoutResponseNow(handle, value.span.bytes) else {
            return awaitRoom(connection)
          }
        } catch {
          // With the end of the connection, which is told, all goes that waits.
          if connection.endReasonNow == nil {
            Misuse.log("a write without response was dropped: \(error)")
          }
        }
        outgoing.removeFirst()
        commandLeft()
      }
    }
  }

  private func commandLeft() {
    let object = object
    guard let peripheral = object.value.object, peripheral.commandLeft() else { return }
    post { _, peripheral in
      guard peripheral.state == .connected else { return }
      peripheral.tellRoom()
      peripheral.delegate?.peripheralIsReady(toSendWriteWithoutResponse: peripheral)
    }
  }

  private func awaitRoom(_ connection: Connection) {
    isWaitingForRoom = true
    Task { @RadioLoop [weak self] in
      try? await connection.awaitRoom()
      self?.isWaitingForRoom = false
      self?.pump()
    }
  }
}
