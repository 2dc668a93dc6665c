public import EventLoop
public import Links
import Synchronization

/// A Bluetooth adapter of the kernel, driven through its management socket; bluetoothd is not
/// needed, and must not be asked to do the same at the same time.
///
/// Everything runs on one loop: an actor whose executor is that loop, which must turn as long as
/// the adapter is used. Scanning, advertising, pairing and switching want CAP_NET_ADMIN; looking
/// and connecting do not.
///
/// What a process has begun ends with it, however it ends: a scan by the kernel itself within
/// 10.24 s, an advertisement within ``advertisementLifetime``, links at once.
///
/// # Limits
/// ``queueLimit`` connections that wait to be taken; as many advertisements as the controller
/// has instances; ``KernelDiscovery/deviceLimit`` devices that a scan remembers.
public actor KernelAdapter: Adapter {
  /// Connections that wait in ``Advertisement/links``; further ones are closed.
  public static let queueLimit = 16
  /// How long an advertisement outlives a process that dies.
  public static let advertisementLifetime: Duration = .seconds(12)
  /// A device counts as gone when it was not received for this long: the kernel reports each
  /// device once in a period of 10.24 s.
  public static let goneTime: Duration = .seconds(25)

  public nonisolated let loop: Loop
  /// The N of hciN.
  public nonisolated let index: UInt16
  /// As it was when the adapter was last asked or told.
  public internal(set) var information: AdapterInformation

  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  var channel: ManagementChannel?
  /// nil where this process may not look.
  var monitor: LinkMonitor?
  /// Why nothing can be done any more.
  var end: RadioError?
  /// Commands that this kernel knows and this process may give.
  var commands: Set<ManagementOpcode> = []
  var discovery: KernelDiscovery?
  private nonisolated let scanIDs = Atomic<UInt64>(0)
  private var lastID: UInt64 = 0
  var advertisements: [UInt64: KernelAdvertisement] = [:]
  var instances: Set<UInt8> = []
  var listener: LinkAcceptor?
  var attempts: [UInt64: LinkAttempt<SocketConnector>] = [:]
  var channelAttempts: [UInt64: LinkAttempt<ChannelConnector>] = [:]
  /// Those that are published, by PSM.
  var channelAcceptors: [UInt16: KernelPublication] = [:]
  /// Peers with a link that goes through this radio.
  var peers: Set<BluetoothAddress> = []
  var agent: (any PairingAgent)?
  let pairings: KernelPairings
  var keyObservers: [@Sendable (BondKey) -> Void] = []
  private var stateWatchers: [UInt64: AsyncStream<AdapterState>.Continuation] = [:]

  /// Opens an adapter: the one that the source names, else the first that is powered, else the
  /// first.
  ///
  /// - Throws: `link` where the kernel has no Bluetooth, `noAdapter`, `managementSilent`,
  ///   `system`.
  public static func open(
    _ source: L2CAPSource = .any, loop: Loop = .shared
  ) async throws(RadioError) -> KernelAdapter {
    let list = try await KernelAdapters(loop: loop).list()
    let adapter = KernelAdapter(try choose(source, among: list), loop: loop)
    try await adapter.begin()
    return adapter
  }

  static func choose(
    _ source: L2CAPSource, among list: [AdapterInformation]
  ) throws(RadioError) -> AdapterInformation {
    let chosen: AdapterInformation?
    let name: String
    switch source {
    case .any:
      chosen = list.first { $0.settings.contains(.powered) } ?? list.first
      name = ""
    case .adapter(let index):
      chosen = list.first { $0.index == index }
      name = "hci\(index)"
    case .address(let address):
      chosen = list.first { $0.address.value == address.value }
      name = address.description
    }
    guard let chosen else { throw .noAdapter(name) }
    return chosen
  }

  // Kept out of other modules for the same reason as AirAdapter's.
  @_semantics("optimize.no.crossmodule")
  init(_ information: AdapterInformation, loop: Loop) {
    self.information = information
    self.loop = loop
    index = information.index
    pairings = KernelPairings(on: loop)
  }

  isolated deinit { shutDown(.closed) }

  /// Opens the management.
  ///
  /// - Parameter socket: one that carries frames, in its place.
  func begin(socket: Int32? = nil) async throws(RadioError) {
    let observer = { [weak self] (index: UInt16, event: ManagementEvent) -> Void in
      self?.assumeIsolated { $0.take(index, event) }
    }
    let channel =
      if let socket {
        try ManagementChannel(socket, on: loop, observer)
      } else {
        try ManagementChannel(on: loop, observer)
      }
    self.channel = channel
    let index = index
    if socket == nil { monitor = LinkMonitor(index, on: loop) }
    discovery = KernelDiscovery(on: loop) { [weak channel] opcode, parameters, completion in
      guard let channel else { return completion(.failure(.closed)) }
      channel.send(opcode, index, parameters, completion)
    }
    information = try await channel.information(index)
    // A kernel that does not tell is taken for an old one.
    commands = (try? await channel.commands()) ?? []
  }

  public var address: BluetoothAddress { information.address }
  /// What is switched on, as the kernel has told last.
  public var settings: AdapterSettings { information.settings }

  public var state: AdapterState {
    if end != nil { return .gone }
    return settings.isSuperset(of: [.powered, .le]) ? .poweredOn : .poweredOff
  }

  /// Why the adapter can do nothing any more, `closed` or `unplugged`; nil while it can.
  public var endReason: RadioError? { end }

  /// The state now, and whenever it changes; ends when the adapter is closed or unplugged.
  public func states() -> AsyncStream<AdapterState> {
    let (stream, continuation) = AsyncStream<AdapterState>.makeStream(
      bufferingPolicy: .bufferingNewest(16))
    continuation.yield(state)
    guard end == nil else {
      continuation.finish()
      return stream
    }
    let id = nextID()
    stateWatchers[id] = continuation
    continuation.onTermination = { [weak self] _ in self?.later { $0.stateWatchers[id] = nil } }
    return stream
  }

  public func close() { shutDown(.closed) }

  func nextID() -> UInt64 {
    lastID += 1
    return lastID
  }

  /// Runs a step on the loop, in its turn; for what cannot wait for it.
  nonisolated func later(_ body: @escaping @Sendable (isolated KernelAdapter) -> Void) {
    loop.execute { self.assumeIsolated(body) }
  }

  private func shutDown(_ reason: RadioError) {
    guard end == nil else { return }
    end = reason
    discovery?.close(reason)
    pairings.close()
    for id in advertisements.keys { stopAdvertising(id) }
    listener?.stop()
    listener = nil
    // Each takes itself out of the table.
    for attempt in attempts.values { attempt.giveUp() }
    for attempt in channelAttempts.values { attempt.giveUp() }
    for psm in channelAcceptors.keys { unpublish(psm) }
    channel?.close()
    channel = nil
    monitor?.close()
    monitor = nil
    for watcher in stateWatchers.values {
      watcher.yield(.gone)
      watcher.finish()
    }
    stateWatchers = [:]
  }

  // MARK: Commands

  @discardableResult
  func command(
    _ opcode: ManagementOpcode, _ parameters: [UInt8] = [],
    patience: Duration? = ManagementChannel.patience
  ) async throws(RadioError) -> [UInt8] {
    if let end { throw end }
    guard let channel else { throw .closed }
    do throws(RadioError) {
      return try await channel.command(opcode, index, parameters, patience: patience)
    } catch .closed {
      throw end ?? .closed
    }
  }

  /// Gives a command that switches something, and notes the settings that it answers with.
  func set(_ opcode: ManagementOpcode, _ value: Bool) async throws(RadioError) {
    let answer = try await command(opcode, [value ? 1 : 0])
    if answer.count >= 4 { take(AdapterSettings(rawValue: UInt32(octets: answer.prefix(4)))) }
  }

  /// Switches LE and the power on, where they are off.
  ///
  /// - Throws: `management` with `permissionDenied` or `blocked`, and what commands throw.
  public func powerOn() async throws(RadioError) {
    guard information.supported.contains(.le) else { throw .unsupported("LE") }
    if !settings.contains(.le) { try await set(.setLE, true) }
    guard !settings.contains(.powered) else { return }
    do throws(RadioError) {
      try await set(.setPowered, true)
    } catch {
      // The kernel does not always say that it is rfkill which forbids it.
      let isBlocked = MachineEvidence.RadioSwitch.all(SystemFiles()).contains {
        $0.name == information.label && ($0.isSoft || $0.isHard)
      }
      guard case .management(let opcode, .failed, let adapter) = error, isBlocked else {
        throw error
      }
      throw .management(opcode, .blocked, adapter: adapter)
    }
  }

  /// Switches the power off: links, advertisements and scans of all programs end.
  ///
  /// - Throws: `management` with what the kernel says (`permissionDenied` without CAP_NET_ADMIN),
  ///   `managementSilent`, `closed`, `unplugged`.
  public func powerOff() async throws(RadioError) { try await set(.setPowered, false) }

  /// Sets whether the adapter may be connected to where an advertisement does not say so itself.
  ///
  /// - Throws: as ``powerOff()``.
  public func setConnectable(_ value: Bool) async throws(RadioError) {
    try await set(.setConnectable, value)
  }

  /// Sets whether peers may bond with this end.
  ///
  /// - Throws: as ``powerOff()``.
  public func setBondable(_ value: Bool) async throws(RadioError) {
    try await set(.setBondable, value)
  }

  // MARK: Events

  private func take(_ index: UInt16, _ event: ManagementEvent) {
    guard index == self.index, end == nil else { return }
    switch event {
    case .indexRemoved: shutDown(.unplugged(information.label))
    case .newSettings(let settings): take(settings)
    case .nameChanged(let name): information.name = name
    case .deviceFound(let device): discovery?.take(device)
    case .discovering(let isOn): discovery?.take(discovering: isOn)
    case .advertisingRemoved(let instance): advertisingEnded(instance)
    case .deviceConnected(let peer, _):
      pairings.connected(peer)
      connected(peer)
    case .deviceDisconnected(let peer, let reason):
      pairingEnded(peer, reason)
      peers.remove(peer)
    case .authenticationFailed(let peer, let status): pairingFailed(peer, status)
    case .newKey(let key, let isToStore):
      if isToStore { for observer in keyObservers { observer(key) } }
      if case .longTerm(let key) = key { hasPaired(key.peer) }
    case .confirmationRequest(let peer, let isJustWorks, let value):
      confirm(peer, value: isJustWorks ? nil : value)
    case .passkeyRequest(let peer): enterPasskey(for: peer)
    case .passkeyNotification(let peer, let passkey, let entered):
      show(passkey, to: peer, entered: Int(entered))
    default: break
    }
  }

  private func take(_ settings: AdapterSettings) {
    let before = state
    information.settings = settings
    guard state != before else { return }
    for watcher in stateWatchers.values { watcher.yield(state) }
    discovery?.powerChanged(isOn: state == .poweredOn)
  }

  // MARK: Scanning

  /// Passive scans are not to be had from the kernel's management: they end with `unsupported`.
  public nonisolated func scan(_ options: ScanOptions = ScanOptions()) -> ScanEvents {
    let id = scanIDs.add(1, ordering: .relaxed).newValue
    let (events, sink) = ScanEvents.make { self.later { $0.discovery?.remove(id) } }
    later { $0.beginScan(id, options, sink) }
    return events
  }

  private func beginScan(_ id: UInt64, _ options: ScanOptions, _ sink: ScanEvents.Sink) {
    var sink = sink
    if let end { return sink.finish(throwing: end) }
    guard state == .poweredOn else {
      return sink.finish(throwing: .poweredOff(information.label))
    }
    guard options.isActive else { return sink.finish(throwing: .unsupported("passive scans")) }
    discovery?.add(id, KernelScan(options, on: loop, sink: sink))
  }
}
