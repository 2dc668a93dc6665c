internal import Atto
import Foundation

/// A peer that was discovered or retrieved, and what is known of it.
///
/// Properties change on the manager's queue, directly before the callback that tells of it. Calls
/// may be made from any thread; each has one callback, which comes after the call has returned,
/// and before `didDisconnect` if the connection ends.
open class CBPeripheral: CBPeer {
  /// Writes without a response that wait for the link before
  /// ``canSendWriteWithoutResponse`` says no.
  static let commandLimit = 64
  /// Those that may wait if the app does not ask; further ones are dropped.
  static let commandHardLimit = 4096

  struct Shown {
    var delegate = WeakReference<AnyObject>()
    var name: String?
    var rssi: NSNumber?
    var state = CBPeripheralState.disconnected
    var services: [CBService]?
    var mtu = 23
    /// How many there have been.
    var connections = 0
    /// Calls that have not been answered, in the order of their making.
    var calls: [Call] = []
    var lastCall: UInt64 = 0
    /// Writes without a response that are on their way to the link.
    var commands = 0
    /// Whether the app has found no room and is to be told.
    var wantsRoom = false
    var droppedCommands = 0
    var showsGenericServices = false
    /// Sequences that are told of notified values.
    var listeners: [AttributeHandle: [Handover<NotifiedValue>]] = [:]
    /// Calls that wait for room.
    var roomCalls: [(number: UInt64, continuation: CheckedContinuation<Void, any Error>)] = []
    /// Those who wait for the connection.
    var openings: [(number: UInt64, continuation: CheckedContinuation<Void, any Error>)] = []

    /// The longest value of a write without a response.
    var commandLimit: Int { min(512, mtu - 3) }
  }

  /// A call of the app that waits for its callback.
  struct Call {
    let number: UInt64
    let fail: (CBPeripheral, any Error) -> Void
  }

  let shown = Guarded(Shown())
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
    let remote = remote
    RadioLoop.later { remote.released() }
  }

  var manager: CBCentralManager? { owner.object }

  /// Who is told; held weakly.
  weak open var delegate: (any CBPeripheralDelegate)? {
    get { shown.value.delegate.object as? any CBPeripheralDelegate }
    set { shown.withLock { $0.delegate = WeakReference(newValue) } }
  }

  /// What it calls itself: in its advertisement, or in its Device Name once connected.
  open var name: String? { shown.value.name }
  /// What ``readRSSI()`` last told, in dBm.
  open var rssi: NSNumber? { shown.value.rssi }
  /// How far the connection is.
  open var state: CBPeripheralState { shown.value.state }
  /// Services that were discovered; nil before, and once the connection has ended.
  open var services: [CBService]? { shown.value.services }

  /// Whether a write without a response would go on its way. Once this is false,
  /// `peripheralIsReady(toSendWriteWithoutResponse:)` comes when there is room: the kernel's
  /// socket has taken at least half of what waits.
  open var canSendWriteWithoutResponse: Bool {
    shown.withLock { shown in
      guard shown.state == .connected else { return false }
      if shown.commands < Self.commandLimit { return true }
      shown.wantsRoom = true
      return false
    }
  }

  /// Always false: there is no Apple Notification Center Service on Linux.
  open var ancsAuthorized: Bool { false }

  /// The longest value of a write: 512 octets with response; without, what fits into one PDU,
  /// ATT_MTU - 3, and 512 at most, since no value is longer; 0 while not connected.
  open func maximumWriteValueLength(for type: CBCharacteristicWriteType) -> Int {
    let shown = shown.value
    guard shown.state == .connected else { return 0 }
    return type == .withResponse ? 512 : shown.commandLimit
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
      shown.wantsRoom = false
    }
    tellOpen()
  }

  /// Those who have waited for the connection have it.
  func tellOpen() {
    let openings = shown.withLock { shown in
      defer { shown.openings = [] }
      return shown.openings
    }
    for opening in openings { opening.continuation.resume() }
  }

  /// Fails what was called and not answered, each once, in order.
  func endConnection(failing error: CBError, isReconnecting: Bool = false) {
    let (calls, services, listeners, openings) = shown.withLock { shown in
      defer {
        shown.listeners = [:]
        shown.roomCalls = []
        if !isReconnecting { shown.openings = [] }
        shown.state = isReconnecting ? .connecting : .disconnected
        shown.services = nil
        shown.calls = []
        shown.commands = 0
        shown.wantsRoom = false
      }
      return (
        shown.calls, shown.services, shown.listeners, isReconnecting ? [] : shown.openings
      )
    }
    for service in services ?? [] {
      for characteristic in service.allCharacteristics {
        characteristic.state.withLock { $0.isNotifying = false }
      }
    }
    for call in calls { call.fail(self, error) }
    for listener in listeners.values.joined() { listener.finish(error) }
    for opening in openings { opening.continuation.resume(throwing: error) }
  }

  /// Services that reach into these handles are no more.
  func invalidate(_ range: ClosedRange<UInt16>) -> [CBService] {
    shown.withLock { shown in
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

  // MARK: Calls

  /// Notes a call that will be answered; nil, with a word to the developer, while not connected.
  func register(_ fail: @escaping (CBPeripheral, any Error) -> Void) -> UInt64? {
    let number: UInt64? = shown.withLock { shown in
      guard shown.state == .connected else { return nil }
      shown.lastCall += 1
      shown.calls.append(Call(number: shown.lastCall, fail: fail))
      return shown.lastCall
    }
    if number == nil {
      Misuse.log("API MISUSE: \(self) can only accept commands while in the connected state")
    }
    return number
  }

  /// Takes a call's registration; false if it is gone.
  func take(_ number: UInt64) -> Bool { takeCall(number) != nil }

  func isRegistered(_ number: UInt64) -> Bool {
    shown.value.calls.contains { $0.number == number }
  }

  func takeCall(_ number: UInt64) -> Call? {
    shown.withLock { shown in
      shown.calls.firstIndex { $0.number == number }.map { shown.calls.remove(at: $0) }
    }
  }

  /// Carries out an operation and calls back with its result.
  ///
  /// - Returns: false if there will be none: while not connected.
  @discardableResult
  func perform<Output: Sendable>(
    _ work: @escaping RemotePeripheral.Work<Output>,
    _ done: @escaping (CBPeripheral, Result<Output, any Error>) -> Void
  ) -> Bool {
    guard let number = register({ $0.answered(done, .failure($1)) }) else { return false }
    let remote = remote
    let carried = Carried(done)
    RadioLoop.later { remote.perform(number, work, carried) }
    return true
  }

  private func answered<Output>(
    _ done: (CBPeripheral, Result<Output, any Error>) -> Void, _ result: Result<Output, any Error>
  ) {
    // Without its manager a delegate is not called any more.
    guard manager != nil else { return }
    done(self, result)
  }

  /// A write without a response has gone to the link, or was dropped. True if the app is to be
  /// told that there is room.
  func commandLeft() -> Bool {
    shown.withLock { shown in
      shown.commands = max(0, shown.commands - 1)
      guard shown.wantsRoom, shown.commands <= Self.commandLimit / 2 else { return false }
      shown.wantsRoom = false
      return true
    }
  }
}

extension CBService {
  /// Its own and those of the services that it includes.
  fileprivate var allCharacteristics: [CBCharacteristic] {
    (characteristics ?? []) + (includedServices ?? []).flatMap { $0.characteristics ?? [] }
  }
}

extension Result {
  var error: Failure? {
    if case .failure(let error) = self { error } else { nil }
  }
}
