internal import Atto
import Foundation

/// The central role: finds peripherals and connects to them.
///
/// It uses the radio that `ATTO_RADIO` names; see ``CBRadio``. Callbacks come on the given queue, in
/// order, and never from within a call.
open class CBCentralManager: CBManager {
  struct Own {
    /// The number of the current scan. Reports of other scans are late, and ignored.
    var scan: UInt64?
    var scans: UInt64 = 0
    /// The peripherals that the app holds: a peer has one object.
    var peripherals: [UUID: WeakReference<CBPeripheral>] = [:]
    var discoveries: AsyncQueue<CBDiscovery>?
    /// The number of entries at which those of released peripherals are removed.
    var sweepAt = 64

    mutating func beginScan() -> UInt64 {
      scans += 1
      scan = scans
      return scans
    }
  }

  let own = Locked(Own())
  let engine: CentralEngine

  /// A manager without a delegate, on the main queue.
  public convenience init() { self.init(delegate: nil, queue: nil, options: nil) }

  public convenience init(delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?) {
    self.init(delegate: delegate, queue: queue, options: nil)
  }

  /// - Parameters:
  ///   - queue: the queue for callbacks; nil is the main queue, which must run then: call
  ///     `dispatchMain()` or `RunLoop.main.run()`.
  ///   - options: `CBCentralManagerOption...Key`.
  public init(
    delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?,
    options: [String: Any]? = nil
  ) {
    engine = CentralEngine(.usual, queue, options)
    super.init(choice: engine.choice)
    begin(delegate)
  }

  /// Creates a manager on the given radio. Not in Apple's framework.
  public init(
    delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?,
    options: [String: Any]? = nil, radio: CBRadio
  ) {
    engine = CentralEngine(radio, queue, options)
    super.init(choice: radio)
    begin(delegate)
  }

  private func begin(_ delegate: (any CBCentralManagerDelegate)?) {
    self.delegate = delegate
    engine.object.value = WeakReference(self)
    RadioLoop.later { [engine] in engine.start() }
  }

  deinit {
    finishDiscoveries(CBError(.operationCancelled))
    RadioLoop.later { [engine] in engine.shutDown() }
  }

  /// The delegate; a weak reference. The restored state and the state of the radio wait until there is
  /// one; other callbacks without a delegate are dropped.
  weak open var delegate: (any CBCentralManagerDelegate)? {
    get { slot.value.delegate.object as? any CBCentralManagerDelegate }
    set {
      slot.withLock { $0.delegate = WeakReference(newValue) }
      engine.post { $0.callDelegate() }
    }
  }

  override func tellState(_ delegate: AnyObject) {
    (delegate as? any CBCentralManagerDelegate)?.centralManagerDidUpdateState(self)
  }

  /// Whether a scan is under way.
  open var isScanning: Bool { own.value.scan != nil }

  /// Whether the radio supports these features. None is supported at present.
  open class func supports(_ features: CBCentralManager.Feature) -> Bool { features.isEmpty }

  // MARK: Retrieving

  /// Returns the peers with these identifiers that this process has discovered, or that a process of
  /// this user was connected to. May wait for the disk.
  open func retrievePeripherals(withIdentifiers identifiers: [UUID]) -> [CBPeripheral] {
    identifiers.compactMap { identifier in
      if let known = own.value.peripherals[identifier]?.object { return known }
      guard let peer = KnownPeers.peer(identifier), let address = BluetoothAddress(peer.address)
      else { return nil }
      return peripheral(identifier, address, name: peer.name)
    }
  }

  /// Returns the peers that this process is connected to, with any manager on this radio, and that
  /// have advertised one of these services or in which one was discovered.
  open func retrieveConnectedPeripherals(withServices serviceUUIDs: [CBUUID]) -> [CBPeripheral] {
    KnownPeers.connected(on: choice, having: serviceUUIDs.map(\.bluetooth)).map {
      peripheral($0, $1, name: KnownPeers.name(of: $0))
    }
  }

  /// The object for a peer: the one that the app holds, or a new one.
  func peripheral(
    _ identifier: UUID, _ address: BluetoothAddress, name: String?
  ) -> CBPeripheral {
    own.withLock { own in
      if let known = own.peripherals[identifier]?.object { return known }
      let made = CBPeripheral(
        RemotePeripheral(identifier, address, engine), name: name, manager: self)
      if own.peripherals.count >= own.sweepAt {
        own.peripherals = own.peripherals.filter { $0.value.object != nil }
        own.sweepAt = max(64, own.peripherals.count * 2)
      }
      own.peripherals[identifier] = WeakReference(made)
      return made
    }
  }

  // MARK: Scanning

  /// Scans for devices. Reports each device once until it has gone, or each advertisement if the
  /// options say so. Replaces the current scan.
  ///
  /// - Parameter serviceUUIDs: report only devices that advertise one of these; nil or empty: all.
  open func scanForPeripherals(
    withServices serviceUUIDs: [CBUUID]?, options: [String: Any]? = nil
  ) {
    _ = scan(for: serviceUUIDs, options, telling: nil)
  }

  /// Begins a scan together with the sequence that receives its discoveries, so that the sequence
  /// misses none. Returns false if the manager does not accept commands.
  func scan(
    for serviceUUIDs: [CBUUID]?, _ options: [String: Any]?, telling source: AsyncQueue<CBDiscovery>?
  ) -> Bool {
    guard acceptsCommands() else { return false }
    let reader = OptionReader(options)
    var request = ScanRequest(
      services: (serviceUUIDs ?? []).map(\.bluetooth),
      solicited: reader.uuids(CBCentralManagerScanOptionSolicitedServiceUUIDsKey).map(\.bluetooth),
      allowsDuplicates: reader.flag(CBCentralManagerScanOptionAllowDuplicatesKey),
      timeout: reader.seconds(CBCentralManagerScanOptionTimeoutKey),
      goneAfter: reader.seconds(CBCentralManagerScanOptionGoneTimeoutKey).map { max(0, $0) })
    // Under the lock, so that scans and their ends reach the loop in order.
    let former = own.withLock { own in
      defer { own.discoveries = source }
      request.number = own.beginScan()
      RadioLoop.later { [engine, request] in engine.scan(request) }
      return own.discoveries
    }
    observers.check()
    former?.finish()
    return true
  }

  /// Ends the current scan, if any.
  open func stopScan() { endScan(of: nil) }

  /// Ends the scan. With a sequence, only if the scan is that of the sequence.
  func endScan(of source: AsyncQueue<CBDiscovery>?) {
    let former = own.withLock { own -> AsyncQueue<CBDiscovery>? in
      if let source, own.discoveries !== source { return nil }
      own.scan = nil
      RadioLoop.later { [engine] in engine.stopScan() }
      return own.discoveries.take()
    }
    observers.check()
    former?.finish()
  }

  // MARK: Connecting

  /// Connects as soon as the peer is reachable, without a timeout. The attempt ends with
  /// ``cancelPeripheralConnection(_:)``, or when the peripheral is released.
  open func connect(_ peripheral: CBPeripheral, options: [String: Any]? = nil) {
    guard acceptsCommands(), isMine(peripheral) else { return }
    peripheral.shown.withLock { beginConnecting(peripheral, &$0, options: options) }
    peripheral.observers.check()
  }

  /// Sets the state and asks the loop to connect, both under the peripheral's lock, so that requests
  /// and cancellations reach the loop in order.
  func beginConnecting(
    _ peripheral: CBPeripheral, _ shown: inout CBPeripheral.Shown, options: [String: Any]?
  ) {
    if shown.state == .disconnected { shown.state = .connecting }
    let reader = OptionReader(options)
    let delay = Duration.seconds(
      min(max(0, reader.seconds(CBConnectPeripheralOptionStartDelayKey) ?? 0), 1e9))
    let reconnects = reader.flag(CBConnectPeripheralOptionEnableAutoReconnect)
    RadioLoop.later { [remote = peripheral.remote] in
      remote.connect(after: delay, reconnects: reconnects)
    }
  }

  /// Ends a connection or a connection attempt. Other managers of this process keep theirs.
  open func cancelPeripheralConnection(_ peripheral: CBPeripheral) {
    guard acceptsCommands(), isMine(peripheral) else { return }
    peripheral.shown.withLock { shown in
      if shown.state == .connected { shown.state = .disconnecting }
    }
    peripheral.observers.check()
    RadioLoop.later { [remote = peripheral.remote] in remote.cancel() }
  }

  func isMine(_ peripheral: CBPeripheral) -> Bool {
    if peripheral.manager === self,
      own.value.peripherals[peripheral.identifier]?.object === peripheral
    {
      return true
    }
    Warning.log(
      "API MISUSE: \(peripheral) belongs to another manager, or was invalidated by a state below"
        + " poweredOff: retrieve or discover it again")
    return false
  }

  /// Reports connections and disconnections of matching peers by any manager of this process. nil
  /// ends the reports. Uses at most four services.
  open func registerForConnectionEvents(
    options: [CBConnectionEventMatchingOption: Any]? = nil
  ) {
    guard acceptsCommands() else { return }
    let services = (options?[.serviceUUIDs] as? [CBUUID] ?? []).map(\.bluetooth)
    if services.count > 4 {
      Warning.log(
        "registerForConnectionEvents: \(services.count) services given, only the first 4 are used")
    }
    let filter = ConnectionEventFilter(
      isEnabled: options != nil, services: Array(services.prefix(4)),
      peers: options?[.peripheralUUIDs] as? [UUID] ?? [])
    RadioLoop.later { [engine] in engine.connectionEvents = filter }
  }
}

extension CBCentralManager {
  /// Optional features of a radio.
  public struct Feature: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Scanning for and connecting to extended advertisements.
    public static var extendedScanAndConnect: CBCentralManager.Feature { .init(rawValue: 0x01) }
  }
}
