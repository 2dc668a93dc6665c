internal import Atto
import Foundation

/// The peripheral role: publishes services and advertises them.
///
/// Its radio is the one that `ATTO_RADIO` names; see ``CBRadio``. Everything is told on the queue
/// that was given, in order, and never from within a call.
open class CBPeripheralManager: CBManager {
  struct Own {
    var delegate = WeakReference<AnyObject>()
    var isAdvertising = false
    /// How often it was ended: what has begun before is over, though it is told of only now.
    var stops = 0
    /// What was added and not removed.
    var services: [CBMutableService] = []
  }

  let own = Guarded(Own())
  let engine: PublishingEngine
  let window: UpdateWindow

  /// A manager without a delegate, on the main queue.
  public convenience init() { self.init(delegate: nil, queue: nil, options: nil) }

  public convenience init(delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?) {
    self.init(delegate: delegate, queue: queue, options: nil)
  }

  /// - Parameters:
  ///   - queue: where the delegate is called; nil is the main queue, which then must run: with
  ///     `dispatchMain()` or `RunLoop.main.run()`.
  ///   - options: `CBPeripheralManagerOption...Key`.
  public init(
    delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?,
    options: [String: Any]? = nil
  ) {
    let callbacks = CallbackQueue(queue)
    engine = PublishingEngine(.usual, callbacks, options)
    window = engine.makeWindow()
    super.init(queue: callbacks, choice: .usual)
    begin(delegate)
  }

  /// Not Apple's: a manager on a radio of one's choice.
  public init(
    delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?,
    options: [String: Any]? = nil, radio: CBRadio
  ) {
    let callbacks = CallbackQueue(queue)
    engine = PublishingEngine(radio, callbacks, options)
    window = engine.makeWindow()
    super.init(queue: callbacks, choice: radio)
    begin(delegate)
  }

  private func begin(_ delegate: (any CBPeripheralManagerDelegate)?) {
    self.delegate = delegate
    engine.object.value = WeakReference(self)
    let engine = engine
    RadioLoop.later { engine.start() }
  }

  deinit {
    let engine = engine
    RadioLoop.later { engine.shutDown() }
  }

  /// Who is told; held weakly.
  weak open var delegate: (any CBPeripheralManagerDelegate)? {
    get { own.value.delegate.object as? any CBPeripheralManagerDelegate }
    set { own.withLock { $0.delegate = WeakReference(newValue) } }
  }

  /// Whether something of ours is in the air.
  open var isAdvertising: Bool { own.value.isAdvertising }

  /// What ``CBManager/authorization`` says, in the words that it had before iOS 13.
  open class func authorizationStatus() -> CBPeripheralManagerAuthorizationStatus {
    CBPeripheralManagerAuthorizationStatus(rawValue: authorization.rawValue) ?? .notDetermined
  }

  // MARK: Advertising

  /// Advertises a local name and services, as far as they fit; all else is ignored.
  open func startAdvertising(_ advertisementData: [String: Any]?) {
    guard acceptsCommands() else { return }
    let wish = AdvertisingWish(advertisementData)
    let engine = engine
    // Handed to the loop under the lock: so beginnings and ends reach it as they are counted.
    own.withLock { own in
      RadioLoop.later { [stops = own.stops] in engine.advertise(wish, after: stops) }
    }
  }

  /// Ends it; connections stay.
  open func stopAdvertising() {
    guard acceptsCommands() else { return }
    let engine = engine
    own.withLock { own in
      own.isAdvertising = false
      own.stops += 1
      RadioLoop.later { engine.stopAdvertising() }
    }
  }

  /// Wishes for a connection to be faster or to save power. The kernel keeps it for the next
  /// connection; the virtual air has no intervals.
  open func setDesiredConnectionLatency(
    _ latency: CBPeripheralManagerConnectionLatency, for central: CBCentral
  ) {
    guard acceptsCommands() else { return }
    let (engine, client) = (engine, central.client)
    RadioLoop.later { engine.wish(latency, for: client) }
  }

  // MARK: Services

  /// Publishes a service as it is now. What it includes must have been added before.
  ///
  /// Traps, where Apple's raises an exception, for a service that is published already, and for a
  /// cached value that could be written.
  open func add(_ service: CBMutableService) {
    guard acceptsCommands() else { return }
    let isNew = own.withLock { own in
      guard !own.services.contains(where: { $0 === service }) else { return false }
      own.services.append(service)
      return true
    }
    precondition(isNew, "Services cannot be added more than once")
    let carried = Carried(Publication(service))
    let engine = engine
    RadioLoop.later { engine.add(carried) }
  }

  /// Takes a service back. Centrals that are connected are told.
  open func remove(_ service: CBMutableService) {
    guard acceptsCommands() else { return }
    own.withLock { own in own.services.removeAll { $0 === service } }
    let carried = Carried(service)
    let engine = engine
    RadioLoop.later { engine.remove(carried) }
  }

  /// Takes all services back.
  open func removeAllServices() {
    guard acceptsCommands() else { return }
    own.withLock { $0.services = [] }
    let engine = engine
    RadioLoop.later { engine.removeAll() }
  }

  // MARK: Values

  /// Answers a read, or all writes of the batch to which this request belongs. Once: a second
  /// answer is ignored, with a word to the developer.
  open func respond(to request: CBATTRequest, withResult result: CBATTError.Code) {
    guard acceptsCommands() else { return }
    if !request.question.answer(result, value: request.value) {
      Misuse.log("API MISUSE: a request was answered a second time; only the first answer counts")
    }
  }

  /// Sends a value to the centrals that have subscribed; it is cut at what each can take, see
  /// ``CBCentral/maximumUpdateValueLength``.
  ///
  /// - Parameter centrals: only to these; nil: to all.
  /// - Returns: false, and nothing sent, if as many values wait as may; then
  ///   `peripheralManagerIsReady(toUpdateSubscribers:)` comes when there is room.
  @discardableResult
  open func updateValue(
    _ value: Data, for characteristic: CBMutableCharacteristic,
    onSubscribedCentrals centrals: [CBCentral]?
  ) -> Bool {
    guard acceptsCommands() else { return false }
    guard let ticket = window.take() else { return false }
    send(value, for: characteristic, to: centrals, ticket)
    return true
  }

  /// Sends a value that has its place.
  func send(
    _ value: Data, for characteristic: CBMutableCharacteristic, to centrals: [CBCentral]?,
    _ ticket: UpdateTicket
  ) {
    let engine = engine
    let clients = centrals.map { $0.map(\.client) }
    let carried = Carried(characteristic)
    let octets = Array(value)
    RadioLoop.later { engine.update(octets, carried, clients, ticket) }
  }

  // MARK: L2CAP

  /// Takes channels at a PSM that is told to the delegate. That ends with the power of the radio,
  /// which the delegate is told by `didUnpublishL2CAPChannel` with `CBError.operationCancelled`;
  /// and it is not restored: publish anew when the state is `poweredOn`.
  open func publishL2CAPChannel(withEncryption encryptionRequired: Bool) {
    guard acceptsCommands() else { return }
    let engine = engine
    RadioLoop.later { engine.publishChannel(isEncrypted: encryptionRequired) }
  }

  /// Takes no more channels there, and ends those that are open.
  open func unpublishL2CAPChannel(_ PSM: CBL2CAPPSM) {
    guard acceptsCommands() else { return }
    let engine = engine
    RadioLoop.later { engine.unpublishChannel(PSM) }
  }
}
