import AttoEventLoop
import AttoLinks
import AttoRadio

/// The discovery of the kernel for the scans of an adapter. The loop's thread only.
///
/// # Theory
/// The kernel scans for 10.24 s and then stops, so that a program that dies does not leave the radio
/// on. While there is a demand, discovery is started again. Only one program at a time may start it,
/// but the kernel reports devices to every management socket. So while it belongs to another
/// program, the reports are used, and it is started when the other program has stopped.
///
///     idle --demand--> starting --done--> running --stopped by the kernel--> idle
///       ^                 |                  |
///       |                 +--busy--> foreign |no demand
///       |                              |     v
///       +------------stopped-----------+-- stopping
///
/// The kernel reports the start of discovery, and devices, before it replies to the command. If the
/// demand ends by then, discovery is stopped without waiting for the reply. If it ends before, the
/// kernel would refuse to stop, so closing the adapter waits for the start (``ended()``). Otherwise
/// discovery would continue for up to 10.24 s after the end of the process, and meanwhile a connection
/// attempt would not see a peer that was reported already.
///
/// Scans filter devices themselves. The kernel could filter by service and strength
/// (MGMT_OP_START_SERVICE_DISCOVERY), but it looks at each report alone, so it would drop a scan
/// response with the name in it; and its filter applies to all programs.
///
/// Each device is reported once in a period, because the controller filters duplicates. If
/// duplicates are in demand, periods are cut to ``duplicatePeriod``.
///
/// Passive scans have a ``KernelMonitor`` instead. What it and discovery hear comes together here. If any
/// scan is active, all hear what discovery hears.
///
/// Controllers with legacy events: the kernel appends the scan response to the advertisement, and
/// does not report where it begins. Then both are in `Discovery.advertisement`.
///
/// # Limits
/// ``deviceLimit`` devices. Beyond that the one that was not received for longest is lost.
final class KernelDiscovery {
  static let deviceLimit = 4096
  /// A device is gone if it was not received for this long: the kernel reports each device once in
  /// 10.24 s.
  static let goneTime: Duration = .seconds(25)
  static let duplicatePeriod: Duration = .seconds(1)
  /// Time before the next try while another program uses discovery.
  static let pause: Duration = .milliseconds(500)
  /// LE public and LE random: BIT(BDADDR_LE_PUBLIC) | BIT(BDADDR_LE_RANDOM).
  static let types: UInt8 = 0x06

  enum State: Hashable {
    case idle, starting, running, foreign, stopping
  }

  private struct Device {
    var discovery: Discovery
    /// On the loop's clock.
    var seen: Int64
  }

  private let loop: Loop
  private weak var channel: ManagementChannel?
  private let index: UInt16
  private let host: RadioHost
  let monitor: KernelMonitor
  private(set) var state = State.idle {
    didSet {
      guard state == .idle else { return }
      for waiter in endWaiters { waiter.resume() }
      endWaiters = []
    }
  }
  private var endWaiters: [CheckedContinuation<Void, Never>] = []
  /// In `starting`: the kernel has reported the start of discovery since the command was sent.
  private var hasBegun = false
  private var demand = ScanDemand.nothing
  private var isActive = true
  private var received: [BluetoothAddress: Device] = [:]
  private var renewal: LoopTimer?
  private var sweep: LoopTimer?

  init(
    _ channel: ManagementChannel, _ index: UInt16, _ host: RadioHost, _ monitor: KernelMonitor
  ) {
    loop = channel.loop
    self.channel = channel
    self.index = index
    self.host = host
    self.monitor = monitor
  }

  /// The devices that the present discovery has found.
  var devices: [Discovery] {
    state == .idle && !monitor.isOn ? [] : received.values.map(\.discovery)
  }

  private var isWanted: Bool { demand != .nothing && isActive }

  func scan(_ demand: ScanDemand, isActive: Bool) {
    self.demand = demand
    self.isActive = isActive
    cutPeriod()
    settle()
    monitor.want(demand != .nothing && !isActive)
  }

  func close() {
    scan(.nothing, isActive: true)
    renewal?.cancel()
    sweep?.cancel()
  }

  /// Returns when the kernel discovers nothing for this process any more. Only if there is no demand.
  nonisolated(nonsending) func ended() async {
    guard demand == .nothing else { return }
    await withCheckedContinuation { continuation in
      // Looked at here: the task may have been suspended on the way.
      guard state != .idle else { return continuation.resume() }
      endWaiters.append(continuation)
    }
    await monitor.ended()
  }

  /// A radio that is switched off stops discovery without an event.
  func powerChanged(isOn: Bool) {
    if !isOn { state = .idle }
    if isOn { settle() }
  }

  // MARK: The kernel's discovery

  private func settle() {
    switch state {
    case .idle: if isWanted { start() }
    case .running: if !isWanted { stop() }
    case .starting: if !isWanted, hasBegun { stop() }
    case .stopping: break
    case .foreign: if !isWanted { state = .idle }
    }
    guard demand == .nothing else { return }
    received = [:]
    sweep?.cancel()
    sweep = nil
  }

  private func start() {
    state = .starting
    hasBegun = false
    channel?.send(.startDiscovery, index, [Self.types]) { [weak self] in self?.started($0) }
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
    case .failure(let error):
      state = .idle
      host.scanRefused(error)
    }
    settle()
  }

  private func stop() {
    guard state == .running || state == .starting else { return }
    renewal?.cancel()
    renewal = nil
    state = .stopping
    channel?.send(.stopDiscovery, index, [Self.types]) { [weak self] _ in
      // If the kernel refuses, there is nothing to stop.
      guard let self, state == .stopping else { return }
      state = .idle
      settle()
    }
  }

  /// Ends the period early if duplicates are in demand.
  private func cutPeriod() {
    guard state == .running, renewal == nil, isActive, demand == .duplicates else { return }
    renew(after: Self.duplicatePeriod) { [weak self] in self?.stop() }
  }

  private func renew(after time: Duration, _ body: @escaping () -> Void) {
    renewal?.cancel()
    renewal = LoopTimer(after: time, on: loop, body)
  }

  /// The kernel reports the start or the end of discovery.
  func changed(isDiscovering: Bool) {
    guard !isDiscovering else {
      hasBegun = true
      return settle()
    }
    guard state == .running || state == .foreign else { return }
    state = .idle
    settle()
  }

  // MARK: Devices

  func found(_ report: ManagementEvent.DeviceFound) {
    guard demand != .nothing else { return }
    let known = received[report.address]?.discovery
    if known == nil, received.count >= Self.deviceLimit { loseOldest() }
    let isResponse = report.isScanResponse
    let discovery = Discovery(
      address: report.address, rssi: report.rssi,
      isConnectable: isResponse ? known?.isConnectable ?? true : report.isConnectable,
      advertisement: isResponse ? known?.advertisement ?? [] : report.data,
      scanResponse: isResponse ? report.data : known?.scanResponse ?? [])
    received[report.address] = Device(discovery: discovery, seen: loop.now)
    host.saw(discovery)
    setSweep()
  }

  private func loseOldest() {
    guard let oldest = received.min(by: { $0.value.seen < $1.value.seen }) else { return }
    lose(oldest.key)
  }

  private func lose(_ address: BluetoothAddress) {
    received[address] = nil
    host.lost(address)
  }

  private func setSweep() {
    guard sweep == nil, let oldest = received.values.map(\.seen).min() else { return }
    let due = oldest + Self.goneTime.inNanoseconds
    sweep = LoopTimer(after: .nanoseconds(max(0, due - loop.now)), on: loop) { [weak self] in
      self?.loseUnseen()
    }
  }

  private func loseUnseen() {
    sweep = nil
    let limit = loop.now - Self.goneTime.inNanoseconds
    for (address, device) in received where device.seen <= limit { lose(address) }
    setSweep()
  }
}
