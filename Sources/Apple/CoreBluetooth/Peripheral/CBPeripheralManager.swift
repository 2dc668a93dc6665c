internal import Atto
import Foundation

/// How fast the connection of a central should be.
public enum CBPeripheralManagerConnectionLatency: Int, Sendable {
  case low = 0
  case medium = 1
  case high = 2
}

/// The peripheral role: publishes services and advertises them.
///
/// It uses the radio that `ATTO_RADIO` names; see ``CBRadio``. Callbacks come on the given queue, in
/// order, and never from within a call.
open class CBPeripheralManager: CBManager {
  struct Own {
    var isAdvertising = false
    /// The number of `stopAdvertising` calls. A start that is reported late, after the next stop, does
    /// not set `isAdvertising`.
    var stops = 0
    var services: [CBMutableService] = []
  }

  let own = Locked(Own())
  let engine: PublishingEngine
  let window: UpdateWindow

  /// A manager without a delegate, on the main queue.
  public convenience init() { self.init(delegate: nil, queue: nil, options: nil) }

  public convenience init(delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?) {
    self.init(delegate: delegate, queue: queue, options: nil)
  }

  /// - Parameters:
  ///   - queue: the queue for callbacks; nil is the main queue, which must run then: call
  ///     `dispatchMain()` or `RunLoop.main.run()`.
  ///   - options: `CBPeripheralManagerOption...Key`.
  public init(
    delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?,
    options: [String: Any]? = nil
  ) {
    engine = PublishingEngine(.usual, queue, options)
    window = engine.makeWindow()
    super.init(choice: engine.choice)
    begin(delegate)
  }

  /// Creates a manager on the given radio. Not in Apple's framework.
  public init(
    delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?,
    options: [String: Any]? = nil, radio: CBRadio
  ) {
    engine = PublishingEngine(radio, queue, options)
    window = engine.makeWindow()
    super.init(choice: radio)
    begin(delegate)
  }

  private func begin(_ delegate: (any CBPeripheralManagerDelegate)?) {
    self.delegate = delegate
    engine.object.value = WeakReference(self)
    RadioLoop.later { [engine] in engine.start() }
  }

  deinit {
    RadioLoop.later { [engine] in engine.shutDown() }
  }

  /// The delegate; a weak reference. The restored state and the state of the radio wait until there is
  /// one; other callbacks without a delegate are dropped.
  weak open var delegate: (any CBPeripheralManagerDelegate)? {
    get { slot.value.delegate.object as? any CBPeripheralManagerDelegate }
    set {
      slot.withLock { $0.delegate = WeakReference(newValue) }
      engine.post { $0.callDelegate() }
    }
  }

  override func tellState(_ delegate: AnyObject) {
    (delegate as? any CBPeripheralManagerDelegate)?.peripheralManagerDidUpdateState(self)
  }

  /// Whether this manager is advertising.
  open var isAdvertising: Bool { own.value.isAdvertising }

  /// `CBManager.authorization` in its form before iOS 13.
  open class func authorizationStatus() -> CBPeripheralManagerAuthorizationStatus {
    CBPeripheralManagerAuthorizationStatus(rawValue: authorization.rawValue) ?? .notDetermined
  }

  // MARK: Advertising

  /// Advertises a local name and services, as far as they fit. Ignores all other keys.
  open func startAdvertising(_ advertisementData: [String: Any]?) {
    guard acceptsCommands() else { return }
    let request = AdvertisingRequest(advertisementData)
    // Under the lock, so that starts and stops reach the loop in the order of their count.
    own.withLock { own in
      RadioLoop.later { [engine, stops = own.stops] in engine.advertise(request, after: stops) }
    }
  }

  /// Stops advertising. Connections stay.
  open func stopAdvertising() {
    guard acceptsCommands() else { return }
    own.withLock { own in
      own.isAdvertising = false
      own.stops += 1
      RadioLoop.later { [engine] in engine.stopAdvertising() }
    }
    observers.check()
  }

  /// Asks for a fast connection or for one that saves power. On the kernel's radio this applies to the
  /// central's next connection; the virtual air ignores it.
  open func setDesiredConnectionLatency(
    _ latency: CBPeripheralManagerConnectionLatency, for central: CBCentral
  ) {
    guard acceptsCommands() else { return }
    RadioLoop.later { [engine, client = central.client] in engine.setLatency(latency, for: client) }
  }

  // MARK: Services

  /// Publishes a service in its present state. Its included services must have been added before.
  ///
  /// Traps, where Apple's framework raises an exception, for a service that is already published, and
  /// for a characteristic with a value that is not read-only.
  open func add(_ service: CBMutableService) {
    guard acceptsCommands() else { return }
    let isNew = own.withLock { own in
      guard !own.services.contains(where: { $0 === service }) else { return false }
      own.services.append(service)
      return true
    }
    precondition(
      isNew, "CBPeripheralManager.add(_:) was called twice with the same service: remove it first")
    let carried = UncheckedBox(Publication(service))
    RadioLoop.later { [engine] in engine.add(carried) }
  }

  /// Removes a service. Connected centrals get a Service Changed indication.
  open func remove(_ service: CBMutableService) {
    guard acceptsCommands() else { return }
    own.withLock { own in own.services.removeAll { $0 === service } }
    let carried = UncheckedBox(service)
    RadioLoop.later { [engine] in engine.remove(carried) }
  }

  /// Removes all services.
  open func removeAllServices() {
    guard acceptsCommands() else { return }
    own.withLock { $0.services = [] }
    RadioLoop.later { [engine] in engine.removeAll() }
  }

  // MARK: Values

  /// Answers a read request, or all writes of the batch that this request belongs to. A second answer
  /// is ignored and logs a warning.
  open func respond(to request: CBATTRequest, withResult result: CBATTError.Code) {
    guard acceptsCommands() else { return }
    if !request.pending.answer(result, value: request.value) {
      Warning.log("API MISUSE: respond(to:withResult:) was called twice for one request (ignored)")
    }
  }

  /// Sends a value to the subscribed centrals. It is truncated to the
  /// ``CBCentral/maximumUpdateValueLength`` of each.
  ///
  /// - Parameter centrals: the centrals to send it to; nil: all.
  /// - Returns: false if the queue is full and nothing was sent.
  ///   `peripheralManagerIsReady(toUpdateSubscribers:)` comes when there is room.
  @discardableResult
  open func updateValue(
    _ value: Data, for characteristic: CBMutableCharacteristic,
    onSubscribedCentrals centrals: [CBCentral]?
  ) -> Bool {
    guard acceptsCommands() else { return false }
    guard let ticket = window.reserve() else { return false }
    send(value, for: characteristic, to: centrals, ticket)
    return true
  }

  /// Sends a value that has a place in the queue.
  func send(
    _ value: Data, for characteristic: CBMutableCharacteristic, to centrals: [CBCentral]?,
    _ ticket: UpdateTicket
  ) {
    let clients = centrals.map { $0.map(\.client) }
    let carried = UncheckedBox(characteristic)
    let octets = Array(value)
    RadioLoop.later { [engine] in engine.update(octets, carried, clients, ticket) }
  }

  // MARK: L2CAP

  /// Accepts L2CAP channels at a PSM, which `didPublishL2CAPChannel` reports.
  ///
  /// When the radio is switched off, this ends and `didUnpublishL2CAPChannel` reports
  /// `CBError.operationCancelled`. It is not restored: publish again when the state is `poweredOn`.
  open func publishL2CAPChannel(withEncryption encryptionRequired: Bool) {
    guard acceptsCommands() else { return }
    RadioLoop.later { [engine] in engine.publishChannel(isEncrypted: encryptionRequired) }
  }

  /// Accepts no more channels at a PSM, and closes the open ones.
  open func unpublishL2CAPChannel(_ PSM: CBL2CAPPSM) {
    guard acceptsCommands() else { return }
    RadioLoop.later { [engine] in engine.unpublishChannel(PSM) }
  }
}
