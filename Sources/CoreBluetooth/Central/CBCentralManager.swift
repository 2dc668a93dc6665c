internal import Atto
import Foundation

/// The central role: finds peripherals and connects to them.
///
/// Its radio is the one that `ATTO_RADIO` names; see ``CBRadio``. Everything is told on the queue
/// that was given, in order, and never from within a call.
open class CBCentralManager: CBManager {
  struct Own {
    var delegate = WeakReference<AnyObject>()
    /// The number of the scan that is under way: what is told of another comes too late.
    var scan: UInt64?
    var scans: UInt64 = 0
    /// Those that the app holds, so that a peer has one object.
    var peripherals: [UUID: WeakReference<CBPeripheral>] = [:]
    /// The sequence that follows the scan.
    var discoveries: Handover<CBDiscovery>?
    /// How many may be there before those that are gone are swept out.
    var sweepAt = 64

    mutating func beginScan() -> UInt64 {
      scans += 1
      scan = scans
      return scans
    }
  }

  let own = Guarded(Own())
  let engine: CentralEngine

  /// A manager without a delegate, on the main queue.
  public convenience init() { self.init(delegate: nil, queue: nil, options: nil) }

  public convenience init(delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?) {
    self.init(delegate: delegate, queue: queue, options: nil)
  }

  /// - Parameters:
  ///   - queue: where the delegate is called; nil is the main queue, which then must run: with
  ///     `dispatchMain()` or `RunLoop.main.run()`.
  ///   - options: `CBCentralManagerOption...Key`.
  public init(
    delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?,
    options: [String: Any]? = nil
  ) {
    let callbacks = CallbackQueue(queue)
    engine = CentralEngine(.usual, callbacks, options)
    super.init(queue: callbacks, choice: .usual)
    begin(delegate)
  }

  /// Not Apple's: a manager on a radio of one's choice.
  public init(
    delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?,
    options: [String: Any]? = nil, radio: CBRadio
  ) {
    let callbacks = CallbackQueue(queue)
    engine = CentralEngine(radio, callbacks, options)
    super.init(queue: callbacks, choice: radio)
    begin(delegate)
  }

  private func begin(_ delegate: (any CBCentralManagerDelegate)?) {
    self.delegate = delegate
    engine.object.value = WeakReference(self)
    let engine = engine
    RadioLoop.later { engine.start() }
  }

  deinit {
    finishDiscoveries(CBError(.operationCancelled))
    let engine = engine
    RadioLoop.later { engine.shutDown() }
  }

  /// Who is told; held weakly.
  weak open var delegate: (any CBCentralManagerDelegate)? {
    get { own.value.delegate.object as? any CBCentralManagerDelegate }
    set { own.withLock { $0.delegate = WeakReference(newValue) } }
  }

  /// Whether a scan is under way.
  open var isScanning: Bool { own.value.scan != nil }

  /// What the radio can do besides: nothing, at present.
  open class func supports(_ features: CBCentralManager.Feature) -> Bool { features.isEmpty }

  // MARK: Retrieving

  /// The peers with these identifiers that were met by this process, or connected to by any of
  /// this user; others are left out.
  open func retrievePeripherals(withIdentifiers identifiers: [UUID]) -> [CBPeripheral] {
    identifiers.compactMap { identifier in
      if let known = own.value.peripherals[identifier]?.object { return known }
      guard let peer = KnownPeers.peer(identifier), let address = BluetoothAddress(peer.address)
      else { return nil }
      return peripheral(identifier, address, name: peer.name)
    }
  }

  /// The peers that this process is connected to, through whatever manager with this radio, and
  /// that have one of these services as far as was discovered or advertised.
  open func retrieveConnectedPeripherals(withServices serviceUUIDs: [CBUUID]) -> [CBPeripheral] {
    ConnectedPeers.list(choice, having: serviceUUIDs.map(\.bluetooth)).map {
      peripheral($0.identifier, $0.address, name: KnownPeers.peer($0.identifier)?.name)
    }
  }

  /// The object of a peer: the one that the app has, or a new one.
  func peripheral(
    _ identifier: UUID, _ address: BluetoothAddress, name: String?
  ) -> CBPeripheral {
    own.withLock { own in
      if let known = own.peripherals[identifier]?.object { return known }
      let made = CBPeripheral(
        RemotePeripheral(identifier, address, queue, engine), name: name, manager: self)
      if own.peripherals.count >= own.sweepAt {
        own.peripherals = own.peripherals.filter { $0.value.object != nil }
        own.sweepAt = max(64, own.peripherals.count * 2)
      }
      own.peripherals[identifier] = WeakReference(made)
      return made
    }
  }

  // MARK: Scanning

  /// Tells each device once, as long as it is on the air, or each advertisement if the options say
  /// so. Another scan that is under way ends.
  ///
  /// - Parameter serviceUUIDs: only devices that advertise one of these; nil or none: all.
  open func scanForPeripherals(
    withServices serviceUUIDs: [CBUUID]?, options: [String: Any]? = nil
  ) {
    _ = scan(for: serviceUUIDs, options, telling: nil)
  }

  /// Begins a scan, and with it the sequence that follows it: it is there before anything can be
  /// found, or the one device that is near might be told to nobody. False, and nothing done, if the
  /// manager takes no commands.
  func scan(
    for serviceUUIDs: [CBUUID]?, _ options: [String: Any]?, telling source: Handover<CBDiscovery>?
  ) -> Bool {
    guard acceptsCommands() else { return false }
    let reader = OptionReader(options)
    var wish = ScanWish(
      services: (serviceUUIDs ?? []).map(\.bluetooth),
      solicited: reader.uuids(CBCentralManagerScanOptionSolicitedServiceUUIDsKey).map(\.bluetooth),
      allowsDuplicates: reader.flag(CBCentralManagerScanOptionAllowDuplicatesKey),
      timeout: reader.seconds(CBCentralManagerScanOptionTimeoutKey),
      goneAfter: reader.seconds(CBCentralManagerScanOptionGoneTimeoutKey).map { max(0, $0) })
    let engine = engine
    // Handed to the loop under the lock: so scans, and their ends, reach it in their order.
    let former = own.withLock { own in
      defer { own.discoveries = source }
      wish.number = own.beginScan()
      RadioLoop.later { [wish] in engine.scan(wish) }
      return own.discoveries
    }
    former?.finish()
    return true
  }

  /// Ends the scan; without one does nothing.
  open func stopScan() { endScan(of: nil) }

  /// Ends the scan, if it is that of this sequence, or whichever it is.
  func endScan(of source: Handover<CBDiscovery>?) {
    let engine = engine
    let former = own.withLock { own -> Handover<CBDiscovery>? in
      if let source, own.discoveries !== source { return nil }
      defer { own.discoveries = nil }
      own.scan = nil
      RadioLoop.later { engine.stopScan() }
      return own.discoveries
    }
    former?.finish()
  }

  // MARK: Connecting

  /// Connects as soon as the peer can be reached, however long that takes. The wish ends with
  /// ``cancelPeripheralConnection(_:)``, or when the peripheral is released.
  open func connect(_ peripheral: CBPeripheral, options: [String: Any]? = nil) {
    guard acceptsCommands(), isMine(peripheral) else { return }
    peripheral.shown.withLock { want(peripheral, &$0, options: options) }
  }

  /// Shows the wish for a connection and hands it to the loop, both under the peripheral's lock: so
  /// wishes, and the ends of those that were seen, reach the loop in their order.
  func want(_ peripheral: CBPeripheral, _ shown: inout CBPeripheral.Shown, options: [String: Any]?)
  {
    if shown.state == .disconnected { shown.state = .connecting }
    let reader = OptionReader(options)
    let delay = Duration.seconds(
      min(max(0, reader.seconds(CBConnectPeripheralOptionStartDelayKey) ?? 0), 1e9))
    let reconnects = reader.flag(CBConnectPeripheralOptionEnableAutoReconnect)
    let remote = peripheral.remote
    RadioLoop.later { remote.connect(after: delay, reconnects: reconnects) }
  }

  /// Ends a connection, or the wish for one. Other managers of this process that have it keep it.
  open func cancelPeripheralConnection(_ peripheral: CBPeripheral) {
    guard acceptsCommands(), isMine(peripheral) else { return }
    peripheral.shown.withLock { shown in
      if shown.state == .connected { shown.state = .disconnecting }
    }
    let remote = peripheral.remote
    RadioLoop.later { remote.cancel() }
  }

  func isMine(_ peripheral: CBPeripheral) -> Bool {
    if peripheral.manager === self,
      own.value.peripherals[peripheral.identifier]?.object === peripheral
    {
      return true
    }
    Misuse.log("API MISUSE: \(peripheral) is of another manager, or of a former state of this one")
    return false
  }

  /// Tells of connections and disconnections of some peers, whoever in this process makes them;
  /// nil: of none any more. At most four services are taken.
  open func registerForConnectionEvents(
    options: [CBConnectionEventMatchingOption: Any]? = nil
  ) {
    guard acceptsCommands() else { return }
    let services = (options?[.serviceUUIDs] as? [CBUUID] ?? []).map(\.bluetooth)
    if services.count > 4 {
      Misuse.log("registerForConnectionEvents: only the first 4 services are taken")
    }
    let wish = ConnectionEventWish(
      isWanted: options != nil, services: Array(services.prefix(4)),
      peers: options?[.peripheralUUIDs] as? [UUID] ?? [])
    let engine = engine
    RadioLoop.later { engine.connectionEvents = wish }
  }
}
