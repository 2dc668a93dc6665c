import ATT
import EventLoop
import Links

/// The kernel's discovery, shared by the scans of an adapter. The loop's thread only.
///
/// # Theory
/// The kernel scans for 10.24 s and then stops by itself, so that a program that dies does not
/// leave the radio on; while somebody scans it is begun again. One program at a time may begin
/// it, but every management socket is told what it finds: so while it belongs to another, its
/// reports are used, and it is begun when the other has done.
///
///     idle --a scan--> starting --done--> running --stopped by the kernel--> idle
///       ^                 |                  |
///       |                 +--busy--> foreign |no scan is left
///       |                              |     v
///       +------------stopped-----------+-- stopping
///
/// The kernel tells that a discovery has begun, and what it finds, before it replies to the command.
/// Who has found all that it wanted by then stops it without waiting for the reply: left alone it
/// would go on for 10.24 s after the end of the process, and meanwhile the kernel looks for nobody
/// else: a peer that it has reported already is not heard by those who connect.
///
/// What a scan wants is sorted out here, device by device. The kernel would do it by services and
/// strength (MGMT_OP_START_SERVICE_DISCOVERY), but for each report alone and for every program:
/// a scan response with the name in it has no services and would be dropped, and what one program
/// leaves out no other would hear.
///
/// In idle, if scans are there, it is begun at once. Each device is reported once in a period
/// (the controller filters duplicates), so a scan that wants them has the period cut to
/// ``duplicatePeriod``.
///
/// The kernel merges an advertisement with its scan response where the controller is of the
/// older kind (legacy events), and does not say where the one ends: then all is in
/// `Discovery.advertisement`. Otherwise both are told apart.
///
/// # Limits
/// ``deviceLimit`` devices; at the limit the one that was not seen for longest makes room.
final class KernelDiscovery {
  typealias Send = (
    ManagementOpcode, [UInt8], @escaping (ManagementChannel.Reply) -> Void
  ) -> Void

  static let deviceLimit = 4096
  static let duplicatePeriod: Duration = .seconds(1)
  /// Before it is tried again where another program was in the way.
  static let pause: Duration = .milliseconds(500)
  /// LE public and LE random: BIT(BDADDR_LE_PUBLIC) | BIT(BDADDR_LE_RANDOM).
  static let types: UInt8 = 0x06

  enum State: Hashable {
    case idle, starting, running, foreign, stopping
  }

  private struct Device {
    var advertisement: [UInt8] = []
    var scanResponse: [UInt8] = []
    var isConnectable = true
    var rssi: Int8 = 127
    /// On the loop's clock.
    var seen: Int64
  }

  private let loop: Loop
  private let send: Send
  private(set) var state = State.idle
  /// In `starting`: the kernel has told that a discovery has begun since the command went out.
  private var hasBegun = false
  private var scans: [UInt64: KernelScan] = [:]
  private var devices: [BluetoothAddress: Device] = [:]
  private var renewal: OneTimer?
  private var sweep: OneTimer?

  init(on loop: Loop, _ send: @escaping Send) {
    self.loop = loop
    self.send = send
  }

  func add(_ id: UInt64, _ scan: KernelScan) {
    scans[id] = scan
    scan.start { [weak self] in self?.remove(id) }
    // What is on the air already: as fresh as this discovery.
    if state != .idle {
      for (address, device) in devices { scan.take(discovery(address, device)) }
    }
    cutPeriod()
    settle()
  }

  func remove(_ id: UInt64) {
    guard let scan = scans.removeValue(forKey: id) else { return }
    scan.end()
    settle()
  }

  /// Ends everything.
  func close(_ error: RadioError) {
    endScans(error)
    settle()
    renewal?.cancel()
  }

  /// A radio that was switched off has forgotten that it was to scan.
  func powerChanged(isOn: Bool) {
    if !isOn { state = .idle }
    if isOn { settle() }
  }

  private func endScans(_ error: RadioError) {
    let ended = scans
    scans = [:]
    for scan in ended.values { scan.end(throwing: error) }
    devices = [:]
    sweep?.cancel()
    sweep = nil
  }

  // MARK: The kernel's discovery

  private func settle() {
    switch state {
    case .idle: if !scans.isEmpty { start() }
    case .running: if scans.isEmpty { stop() }
    case .starting: if scans.isEmpty, hasBegun { stop() }
    case .stopping: break
    case .foreign: if scans.isEmpty { state = .idle }
    }
    if scans.isEmpty { devices = [:] }
  }

  private func start() {
    state = .starting
    hasBegun = false
    send(.startDiscovery, [Self.types]) { [weak self] reply in self?.started(reply) }
  }

  private func started(_ reply: ManagementChannel.Reply) {
    guard state == .starting else { return }
    switch reply {
    case .success:
      state = .running
      renewal?.cancel()
      renewal = nil
      cutPeriod()
    case .failure(.management(_, .busy, _)):
      state = .foreign
      renew(after: Self.pause) { [weak self] in
        guard let self, state == .foreign else { return }
        state = .idle
        settle()
      }
    case .failure(.management(_, .invalidIndex, let index?)):
      // It was there when the scan began; that it has been removed comes a moment later.
      state = .idle
      endScans(.unplugged("hci\(index)"))
    case .failure(let error):
      state = .idle
      endScans(error)
    }
    settle()
  }

  private func stop() {
    switch state {
    case .running, .starting: break
    case .idle, .foreign, .stopping: return
    }
    renewal?.cancel()
    renewal = nil
    state = .stopping
    send(.stopDiscovery, [Self.types]) { [weak self] _ in
      // A refusal says that there is nothing to be stopped.
      guard let self, state == .stopping else { return }
      state = .idle
      settle()
    }
  }

  /// Ends the period early, if it is ours and somebody wants duplicates.
  private func cutPeriod() {
    guard state == .running, renewal == nil,
      scans.values.contains(where: \.options.reportsDuplicates)
    else { return }
    renew(after: Self.duplicatePeriod) { [weak self] in self?.stop() }
  }

  private func renew(after time: Duration, _ body: @escaping () -> Void) {
    renewal?.cancel()
    renewal = OneTimer(after: time, on: loop, body)
  }

  /// The kernel tells that a discovery has begun or ended.
  func take(discovering isOn: Bool) {
    guard !isOn else {
      hasBegun = true
      return settle()
    }
    switch state {
    case .running, .foreign:
      state = .idle
      settle()
    case .idle, .starting, .stopping: break
    }
  }

  // MARK: Devices

  func take(_ found: ManagementEvent.DeviceFound) {
    guard !scans.isEmpty else { return }
    var device = devices[found.address] ?? Device(seen: loop.now)
    device.seen = loop.now
    device.rssi = found.rssi
    if found.isScanResponse {
      device.scanResponse = found.data
    } else {
      device.advertisement = found.data
      device.isConnectable = found.isConnectable
    }
    if devices[found.address] == nil, devices.count >= Self.deviceLimit { dropOldest() }
    devices[found.address] = device
    let discovery = discovery(found.address, device)
    for scan in scans.values { scan.take(discovery) }
    setSweep()
  }

  private func discovery(_ address: BluetoothAddress, _ device: Device) -> Discovery {
    Discovery(
      address: address, rssi: device.rssi, isConnectable: device.isConnectable,
      advertisement: device.advertisement, scanResponse: device.scanResponse)
  }

  private func dropOldest() {
    guard let oldest = devices.min(by: { $0.value.seen < $1.value.seen }) else { return }
    lose(oldest.key)
  }

  private func lose(_ address: BluetoothAddress) {
    devices[address] = nil
    for scan in scans.values { scan.lose(address) }
  }

  private func setSweep() {
    guard sweep == nil, let oldest = devices.values.map(\.seen).min() else { return }
    let due = oldest + Int64(KernelAdapter.goneTime / .nanoseconds(1))
    sweep = OneTimer(after: .nanoseconds(max(0, due - loop.now)), on: loop) { [weak self] in
      self?.loseUnseen()
    }
  }

  private func loseUnseen() {
    sweep = nil
    let limit = loop.now - Int64(KernelAdapter.goneTime / .nanoseconds(1))
    for (address, device) in devices where device.seen <= limit { lose(address) }
    setSweep()
  }
}
