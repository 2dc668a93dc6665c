internal import Atto
import Foundation

/// The state of a connection.
public enum CBPeripheralState: Int, Sendable {
  case disconnected = 0
  case connecting = 1
  case connected = 2
  case disconnecting = 3
}

/// A peer that was discovered or retrieved.
///
/// Properties change on the manager's queue, directly before the callback for the change. Methods
/// may be called on any thread. Each call has one callback, which comes after the call has returned,
/// and before `didDisconnectPeripheral` if the connection ends.
open class CBPeripheral: CBPeer {
  /// Queued writes without response at which ``canSendWriteWithoutResponse`` becomes false.
  static let commandLimit = 64
  /// Queued writes without response at which further ones are dropped.
  static let commandHardLimit = 4096

  typealias Continuation = CheckedContinuation<Void, any Error>

  struct Shown {
    var delegate = WeakReference<AnyObject>()
    var name: String?
    var rssi: NSNumber?
    var state = CBPeripheralState.disconnected
    var services: [CBService]?
    var mtu = 23
    var connections = 0
    var calls: [Call] = []
    var lastCall: UInt64 = 0
    /// Writes without response on their way to the link.
    var commands = 0
    /// Whether the app has found no room and waits for the callback.
    var isWaitingForRoom = false
    var droppedCommands = 0
    var showsGenericServices = false
    /// Sequences that receive notified values.
    var listeners: [AttributeHandle: [AsyncQueue<NotifiedValue>]] = [:]
    var roomCalls: [(number: UInt64, continuation: Continuation)] = []
    /// Calls that wait for the connection.
    var openings: [(number: UInt64, continuation: Continuation)] = []

    /// The longest value of a write without response.
    var commandLength: Int { min(512, mtu - 3) }
  }

  let shown = Locked(Shown())
  let observers = ObserverList()
  let remote: RemotePeripheral
  private let owner: WeakReference<CBCentralManager>

  init(_ remote: RemotePeripheral, name: String?, manager: CBCentralManager) {
    self.remote = remote
    owner = WeakReference(manager)
    super.init(identifier: remote.identifier)
    shown.withLock { $0.name = name }
    remote.object.value = WeakReference(self)
  }

  deinit {
    RadioLoop.later { [remote] in remote.released() }
  }

  var manager: CBCentralManager? { owner.object }

  /// The delegate; a weak reference.
  weak open var delegate: (any CBPeripheralDelegate)? {
    get { shown.value.delegate.object as? any CBPeripheralDelegate }
    set { shown.withLock { $0.delegate = WeakReference(newValue) } }
  }

  /// The peer's name: from its advertisement, or from its Device Name when connected.
  open var name: String? { shown.value.name }
  /// The last result of ``readRSSI()``, in dBm.
  open var rssi: NSNumber? { shown.value.rssi }
  /// The state of the connection.
  open var state: CBPeripheralState { shown.value.state }
  /// The discovered services; nil before discovery, and after the connection has ended.
  open var services: [CBService]? { shown.value.services }

  /// Whether a write without response would be sent. If this is false,
  /// `peripheralIsReady(toSendWriteWithoutResponse:)` comes when the kernel's socket has accepted at
  /// least half of the queue.
  open var canSendWriteWithoutResponse: Bool {
    shown.withLock { shown in
      guard shown.state == .connected else { return false }
      if shown.commands < Self.commandLimit { return true }
      shown.isWaitingForRoom = true
      return false
    }
  }

  /// Always false: Linux has no Apple Notification Center Service.
  open var ancsAuthorized: Bool { false }

  /// The address, as `C0:11:22:33:44:55`. Not in Apple's framework.
  public var address: String { remote.address.digits }

  /// Whether the address is a random one rather than one assigned by the IEEE. Not in Apple's
  /// framework.
  public var hasRandomAddress: Bool { remote.address.kind == .random }

  /// Whether ``discoverServices(_:)`` reports the Generic Access (1800) and Generic Attribute (1801)
  /// services, which iOS hides. Not in Apple's framework.
  public var showsGenericServices: Bool {
    get { shown.value.showsGenericServices }
    set { shown.withLock { $0.showsGenericServices = newValue } }
  }

  /// The longest value of a write: 512 octets with response; without response ATT_MTU - 3 and at most
  /// 512, or 20 while not connected.
  open func maximumWriteValueLength(for type: CBCharacteristicWriteType) -> Int {
    let shown = shown.value
    if type == .withResponse { return 512 }
    return shown.state == .connected ? shown.commandLength : 20
  }

  open override func value(forKey key: String) -> Any? {
    switch key {
    case "name": name
    case "state": NSNumber(value: state.rawValue)
    case "services": services
    case "canSendWriteWithoutResponse": NSNumber(value: canSendWriteWithoutResponse)
    // Not a property of Apple's class either: ATT_MTU.
    case "mtuLength": NSNumber(value: shown.value.mtu)
    default: super.value(forKey: key)
    }
  }

  open override var description: String {
    "<CBPeripheral: identifier = \(identifier.uuidString), name = \(name ?? "(null)"), state = "
      + "\(state)>"
  }

  // MARK: Changes, on the app's queue

  func beginConnection(mtu: Int, keepsServices: Bool) {
    shown.withLock { shown in
      shown.state = .connected
      shown.connections += 1
      shown.mtu = mtu
      if !keepsServices { shown.services = nil }
      shown.commands = 0
      shown.isWaitingForRoom = false
    }
    observers.check()
    finishOpenings()
  }

  func finishOpenings() {
    let openings = shown.withLock { shown in
      defer { shown.openings = [] }
      return shown.openings
    }
    for opening in openings { opening.continuation.resume() }
  }

  /// Fails the pending calls, in order.
  func endConnection(failing error: CBError, isReconnecting: Bool = false) {
    let ended = shown.withLock { shown in
      defer {
        shown.state = isReconnecting ? .connecting : .disconnected
        shown.services = nil
        shown.calls = []
        shown.commands = 0
        shown.isWaitingForRoom = false
        shown.listeners = [:]
        shown.roomCalls = []
        if !isReconnecting { shown.openings = [] }
      }
      return shown
    }
    observers.check()
    for service in ended.services ?? [] {
      for characteristic in service.allCharacteristics {
        characteristic.state.withLock { $0.isNotifying = false }
      }
    }
    for call in ended.calls { call.fail(self, error) }
    for listener in ended.listeners.values.joined() { listener.finish(error) }
    guard !isReconnecting else { return }
    for opening in ended.openings { opening.continuation.resume(throwing: error) }
  }

  /// Removes and returns the services that overlap these handles.
  func invalidate(_ range: ClosedRange<UInt16>) -> [CBService] {
    defer {
      observers.check()
      saveServices()
    }
    return shown.withLock { shown in
      let invalid = (shown.services ?? []).filter { service in
        guard let own = service.range else { return false }
        return range.overlaps(own.start.rawValue...own.end.rawValue)
      }
      shown.services?.removeAll { service in invalid.contains { $0 === service } }
      return invalid
    }
  }

  func characteristic(valueHandle: AttributeHandle) -> CBCharacteristic? {
    for service in shown.value.services ?? [] {
      for candidate in service.allCharacteristics where candidate.found?.valueHandle == valueHandle
      {
        return candidate
      }
    }
    return nil
  }

  // MARK: Sequences of values

  /// Gives a value to the sequences that receive it.
  func deliver(_ handle: AttributeHandle, _ value: Data, _ delivery: ReleaseAction) {
    for listener in shown.value.listeners[handle] ?? [] {
      listener.add(NotifiedValue(value: value, delivery: delivery))
    }
  }

  /// Ends the sequences of a value: the app has ended the subscription.
  func finishListeners(_ handle: AttributeHandle) {
    let listeners = shown.withLock { $0.listeners.removeValue(forKey: handle) }
    for listener in listeners ?? [] { listener.finish() }
  }
}

extension CBPeripheral: ObservedObject {}

/// A notified value in the queue of a sequence. The peer is held back while too many of them exist.
struct NotifiedValue {
  let value: Data
  let delivery: ReleaseAction
}

extension CBService {
  /// Its own and those of the included services.
  fileprivate var allCharacteristics: [CBCharacteristic] {
    (characteristics ?? []) + (includedServices ?? []).flatMap { $0.characteristics ?? [] }
  }
}
