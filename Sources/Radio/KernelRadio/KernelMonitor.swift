import AttoEventLoop
import AttoRadio

/// The advertisement monitor of the kernel for the passive scans of an adapter. The loop's thread only.
///
/// # Theory
/// The kernel scans passively while an advertisement monitor is registered, except while a program
/// discovers: then it scans actively and reports that. It reports repeated advertisements too. There is no
/// time after which it stops.
///
///     idle --wanted--> adding --done--> running --not wanted--> removing --done--> idle
///       ^                |                 |
///       |             busy: again          |removed by another program
///       +----------------------------------+
///
/// A monitor has patterns, and there is none that all advertisements match. Without pattern matching in
/// the controller (Microsoft's HCI extension) that does not matter: the kernel reports every advertisement,
/// since bluetoothd compares them itself. A controller with it reports only what matches
/// ``MonitorPattern/all``.
///
/// MGMT_OP_ADD_ADV_PATTERNS_MONITOR_RSSI (0x0056) gives such a controller thresholds of the strength too.
/// It is not used: the scans of a process share one monitor, and ``ScanOptions/minimumRSSI`` of each is
/// compared here in any case, since other controllers and the kernel ignore the thresholds.
///
/// A monitor stays when the process that has registered it was killed. The kernel does not tell whose it
/// is. So a process that has one binds an abstract Unix socket with the monitor's handle in its name,
/// which ends with the process, and a scan that begins removes monitors of which nobody has the name:
/// unless bluetoothd runs, whose monitors have no names. If that removes one too many, its owner is told
/// and registers it again.
///
/// # Limits
/// The kernel has 32 monitors for each adapter, with 16 patterns each.
final class KernelMonitor {
  /// Time before the next try while the kernel is busy.
  static let pause: Duration = .milliseconds(500)

  enum State: Hashable {
    case idle, adding
    case running(UInt16)
    case removing(UInt16)
  }

  private let loop: Loop
  private weak var channel: ManagementChannel?
  private let index: UInt16
  private let host: RadioHost
  private let names: MonitorName.Place
  private(set) var state = State.idle {
    didSet {
      guard state == .idle, !isWanted else { return }
      for waiter in endWaiters { waiter.resume() }
      endWaiters = []
    }
  }
  private var isWanted = false
  private var name: MonitorName?
  private var timer: LoopTimer?
  private var endWaiters: [CheckedContinuation<Void, Never>] = []

  init(
    _ channel: ManagementChannel, _ index: UInt16, _ host: RadioHost, names: MonitorName.Place
  ) {
    loop = channel.loop
    self.channel = channel
    self.index = index
    self.host = host
    self.names = names
  }

  /// Whether the kernel may scan passively for this process.
  var isOn: Bool { state != .idle }

  func want(_ isWanted: Bool) {
    self.isWanted = isWanted
    settle()
  }

  /// Waits until this process has no monitor; returns at once if one is wanted.
  nonisolated(nonsending) func ended() async {
    await withCheckedContinuation { continuation in
      // Looked at here: the task may have been suspended on the way.
      guard state != .idle, !isWanted else { return continuation.resume() }
      endWaiters.append(continuation)
    }
  }

  /// Another program has removed a monitor.
  func removed(_ handle: UInt16) {
    guard state == .running(handle) else { return }
    name = nil
    state = .idle
    settle()
  }

  private func settle() {
    switch state {
    case .idle: if isWanted { begin() }
    case .running(let handle): if !isWanted { remove(handle) }
    case .adding, .removing: break
    }
  }

  // MARK: Adding

  private func begin() {
    state = .adding
    channel?.send(.readMonitorFeatures, index) { [weak self] reply in
      guard let self else { return }
      switch reply {
      case .success(let answer): remove(forgotten: forgotten(of: Self.handles(answer))[...])
      case .failure(let error): fail(error)
      }
    }
  }

  /// The handles in the answer to MGMT_OP_READ_ADV_MONITOR_FEATURES.
  static func handles(_ answer: [UInt8]) -> [UInt16] {
    // What is supported and enabled, and the limits.
    ManagementChannel.numbers(Array(answer.dropFirst(11))) ?? []
  }

  /// The monitors of processes that were killed.
  private func forgotten(of handles: [UInt16]) -> [UInt16] {
    let nameless = handles.filter { MonitorName($0, of: index, in: names) != nil }
    return nameless.isEmpty || !names.isShared ? nameless : []
  }

  /// Removes these monitors, and then adds one.
  private func remove(forgotten: ArraySlice<UInt16>) {
    guard let handle = forgotten.first else { return add() }
    channel?.send(.removeMonitor, index, handle.octets(2)) { [weak self] _ in
      // If the kernel refuses, the monitor stays.
      self?.remove(forgotten: forgotten.dropFirst())
    }
  }

  private func add() {
    guard isWanted else {
      state = .idle
      return
    }
    channel?.send(.addPatternsMonitor, index, MonitorPattern.parameters) { [weak self] reply in
      guard let self else { return }
      switch reply {
      case .success(let answer):
        var reader = ManagementReader(answer)
        let handle: UInt16 = reader.integer()
        guard !reader.isShort else {
          return fail(.managementSilent(.addPatternsMonitor, adapter: index))
        }
        name = MonitorName(handle, of: index, in: names)
        state = .running(handle)
        settle()
      case .failure(.management(_, .busy, _)): again { $0.add() }
      case .failure(let error): fail(error)
      }
    }
  }

  private func fail(_ error: RadioError) {
    isWanted = false
    state = .idle
    host.scanRefused(error)
  }

  // MARK: Removing

  private func remove(_ handle: UInt16) {
    state = .removing(handle)
    channel?.send(.removeMonitor, index, handle.octets(2)) { [weak self] reply in
      guard let self else { return }
      if case .failure(.management(_, .busy, _)) = reply { return again { $0.remove(handle) } }
      // If the kernel refuses otherwise, there is nothing to remove.
      name = nil
      state = .idle
      settle()
    }
  }

  private func again(_ body: @escaping (KernelMonitor) -> Void) {
    timer = LoopTimer(after: Self.pause, on: loop) { [weak self] in
      if let self { body(self) }
    }
  }
}
