public import AttoEventLoop
public import AttoLinks
public import AttoRadio
import Glibc

extension Adapter {
  /// Opens an adapter of the kernel: the one that the source names, else the first that is powered,
  /// else the first.
  ///
  /// bluetoothd is not needed, and must not scan, advertise or pair on the same adapter. Scanning,
  /// advertising, pairing and switching require CAP_NET_ADMIN; listing adapters and connecting do
  /// not. What a process has started ends with it: a scan within 10.24 s, an advertisement within
  /// 12 s, links at once. Only the passive scan of a process that was killed goes on, until the next one
  /// of Atto has ended.
  ///
  /// - Throws: `link` where the kernel has no Bluetooth, `noAdapter`, `managementSilent`, `system`.
  public static func kernel(
    _ source: L2CAPSource = .any, loop: Loop = .shared
  ) async throws(RadioError) -> Adapter {
    let list = try await KernelAdapters(loop: loop).list()
    let adapter = Adapter(KernelBackend(try list.adapter(for: source), loop: loop), loop: loop)
    try await adapter.open()
    return adapter
  }
}

/// An adapter of the kernel, driven through the management socket.
///
/// # Limits
/// As many advertisements as the controller has instances; ``KernelDiscovery/deviceLimit`` devices
/// of a scan.
final class KernelBackend: RadioBackend {
  let host = RadioHost()
  let loop: Loop
  let agents: AgentCalls
  /// As it was when the kernel last reported it.
  var information: AdapterInformation
  /// The other end of the management socket, in tests.
  private let socket: Int32?
  /// The other end of the monitor, in tests.
  private let monitorSocket: Int32?
  private(set) var channel: ManagementChannel?
  /// nil if this process may not open the monitor.
  private(set) var monitor: LinkMonitor?
  /// The codes of commands that this kernel supports and this process may use.
  private(set) var commands: Set<UInt16> = []
  private var discovery: KernelDiscovery?
  private var scanTiming: KernelScanTiming?
  var advertisements: [UInt64: KernelAdvertisement] = [:]
  var listener: LinkAcceptor?
  var attemptCount = 0
  var channelAttemptCount = 0
  var channelAcceptors: [UInt16: SocketAcceptor<AcceptedChannel>] = [:]
  /// Peers with a link of this adapter, or to which it connects.
  var peers: Set<BluetoothAddress> = []
  let pairings: KernelPairings

  /// - Parameters:
  ///   - socket: carries management frames, in place of the kernel's socket.
  ///   - monitorSocket: carries the monitor's datagrams then; nil: there is no monitor.
  init(
    _ information: AdapterInformation, socket: Int32? = nil, monitorSocket: Int32? = nil, loop: Loop
  ) {
    self.information = information
    (self.socket, self.monitorSocket) = (socket, monitorSocket)
    self.loop = loop
    agents = AgentCalls(on: loop)
    pairings = KernelPairings(agents)
  }

  var address: BluetoothAddress { information.address }
  var name: String { information.name }
  var index: UInt16? { information.index }
  var reportsDepartures: Bool { false }
  var isPoweredOn: Bool { information.settings.isSuperset(of: [.powered, .le]) }
  var controller: (any RadioController)? { self }
  var devices: [Discovery] { discovery?.devices ?? [] }

  /// The source of sockets. An adapter without a public address is used with all others.
  var source: L2CAPSource { address.value == 0 ? .any : .adapter(information.index) }

  nonisolated(nonsending) func open() async throws(RadioError) {
    let channel = try ManagementChannel(socket, on: loop) { [weak self] index, event in
      self?.receive(index, event)
    }
    self.channel = channel
    let index = information.index
    if socket == nil || monitorSocket != nil {
      monitor = LinkMonitor(index, host, socket: monitorSocket, on: loop)
    }
    let names = socket.map { MonitorName.Place.test("atto-test-\(getpid())-\($0)") } ?? .machine
    scanTiming = KernelScanTiming(channel, index, host)
    discovery = KernelDiscovery(
      channel, index, host, KernelMonitor(channel, index, host, names: names))
    information = try await channel.information(index)
    // Old kernels do not support this command.
    commands = (try? await channel.commands()) ?? []
  }

  func close(_ reason: RadioError) {
    discovery?.close()
    pairings.close()
    listener?.stop()
    listener = nil
    for psm in channelAcceptors.keys { unpublish(psm) }
    channel?.close(reason)
    channel = nil
    monitor?.close()
    monitor = nil
  }

  func scan(_ demand: ScanDemand, isActive: Bool, timing: ScanTiming?) throws(RadioError) {
    scanTiming?.want(timing)
    discovery?.scan(demand, isActive: isActive)
  }
  nonisolated(nonsending) func scanEnded() async { await discovery?.ended() }

  // MARK: Events

  private func receive(_ index: UInt16, _ event: ManagementEvent) {
    guard index == information.index else { return }
    switch event {
    case .indexRemoved: host.ended(.unplugged(information.label))
    case .newSettings(let settings): update(settings)
    case .nameChanged(let name): information.name = name
    case .deviceFound(let device): discovery?.found(device)
    case .discovering(let isOn): discovery?.changed(isDiscovering: isOn)
    case .advertisingRemoved(let instance): advertisingRemoved(instance)
    case .monitorRemoved(let handle): discovery?.monitor.removed(handle)
    case .deviceConnected(let peer):
      pairings.connected(peer)
      connected(peer)
    case .deviceDisconnected(let peer, let reason):
      // MGMT_DEV_DISCONN_AUTH_FAILURE
      pairings.disconnected(peer, isAuthenticationFailure: reason == 4)
      peers.remove(peer)
    case .authenticationFailed(let peer, let status): pairings.failed(peer, status)
    case .newKey(.longTerm(let key), isToStore: _): pairings.paired(key.peer)
    case .confirmationRequest(let peer, let isJustWorks, let value):
      confirm(peer, value: isJustWorks ? nil : value)
    case .passkeyRequest(let peer): enterPasskey(for: peer)
    case .passkeyNotification(let peer, let passkey, let entered):
      show(passkey, to: peer, entered: Int(entered))
    default: break
    }
  }

  private func update(_ settings: AdapterSettings) {
    let wasOn = isPoweredOn
    information.settings = settings
    guard isPoweredOn != wasOn else { return }
    discovery?.powerChanged(isOn: isPoweredOn)
    host.powerChanged()
  }

  // MARK: Commands

  @discardableResult
  nonisolated(nonsending) func command(
    _ opcode: ManagementOpcode, _ parameters: [UInt8] = []
  ) async throws(RadioError) -> [UInt8] {
    guard let channel else { throw .closed }
    return try await channel.command(opcode, information.index, parameters)
  }

  /// Sends a command that nothing waits for.
  func send(_ opcode: ManagementOpcode, _ parameters: [UInt8]) {
    channel?.send(opcode, information.index, parameters)
  }

  /// Sends a command that switches a setting, and stores the settings in the answer.
  nonisolated(nonsending) func set(
    _ opcode: ManagementOpcode, _ value: Bool
  ) async throws(RadioError) {
    let answer = try await command(opcode, [value ? 1 : 0])
    if answer.count >= 4 { update(AdapterSettings(rawValue: UInt32(octets: answer.prefix(4)))) }
  }
}

// MARK: - The controller

extension KernelBackend: RadioController {
  nonisolated(nonsending) func powerOn() async throws(RadioError) {
    guard information.supported.contains(.le) else { throw .unsupported("LE") }
    if !information.settings.contains(.le) { try await set(.setLE, true) }
    guard !information.settings.contains(.powered) else { return }
    do throws(RadioError) {
      try await set(.setPowered, true)
    } catch {
      // The kernel does not always report rfkill as the reason.
      let isBlocked = RadioSwitch.all(SystemFiles()).contains {
        $0.name == information.label && ($0.isSoft || $0.isHard)
      }
      guard case .management(let opcode, .failed, let adapter) = error, isBlocked else {
        throw error
      }
      throw .management(opcode, .blocked, adapter: adapter)
    }
  }

  nonisolated(nonsending) func powerOff() async throws(RadioError) {
    try await set(.setPowered, false)
  }

  nonisolated(nonsending) func connectionInformation(
    of peer: BluetoothAddress
  ) async throws(RadioError) -> ConnectionInformation {
    var information: ConnectionInformation
    do throws(RadioError) {
      let answer = try await command(.getConnectionInformation, peer.managementOctets)
      guard let found = ConnectionInformation(answer) else {
        throw .managementSilent(.getConnectionInformation, adapter: index)
      }
      information = found
    } catch .management(_, .failed, _) where agreedParameters(with: peer) != nil {
      // Some controllers cannot read the strength of the signal.
      information = ConnectionInformation(rssi: nil, txPower: nil, maximumTXPower: nil)
    }
    information.parameters = agreedParameters(with: peer)
    return information
  }

  func hasLink(with peer: BluetoothAddress) -> Bool { peers.contains(peer) }

  /// Reads the events since the last turn of the loop first.
  private func agreedParameters(with peer: BluetoothAddress) -> AgreedParameters? {
    monitor?.receive()
    return monitor?.links[peer]
  }

  nonisolated(nonsending) func loadConnectionParameters(
    _ parameters: [BluetoothAddress: PreferredConnectionParameters]
  ) async throws(RadioError) {
    try await command(
      .loadConnectionParameters, try managementList(parameters.map { $1.octets($0) }))
  }

  nonisolated(nonsending) func disconnect(_ peer: BluetoothAddress) async throws(RadioError) {
    try await command(.disconnect, peer.managementOctets)
  }
}

extension ConnectionInformation {
  /// Reads the answer to MGMT_OP_GET_CONN_INFO; nil if it is too short.
  init?(_ answer: [UInt8]) {
    var reader = ManagementReader(answer)
    _ = reader.octets(7)
    // 127 means unknown in all three.
    func field() -> Int8? {
      let value: Int8 = reader.integer()
      return value == 127 ? nil : value
    }
    self.init(rssi: field(), txPower: field(), maximumTXPower: field())
    if reader.isShort { return nil }
  }
}

extension PreferredConnectionParameters {
  /// An entry of MGMT_OP_LOAD_CONN_PARAM.
  fileprivate func octets(_ peer: BluetoothAddress) -> [UInt8] {
    peer.managementOctets + interval.lowerBound.octets(2) + interval.upperBound.octets(2)
      + latency.octets(2) + supervisionTimeout.octets(2)
  }
}

/// A count and so many items.
///
/// - Throws: `unsupported` if they do not fit into a frame.
func managementList(_ items: [[UInt8]]) throws(RadioError) -> [UInt8] {
  let octets = items.flatMap(\.self)
  guard octets.count <= 0xFFFF - 2 else {
    throw .unsupported("\(items.count) entries at a time")
  }
  return items.count.octets(2) + octets
}
