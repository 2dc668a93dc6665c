import Atto
import AttoEventLoop
import AttoLinks
import AttoRadio
import AttoStore

/// Holds links to devices and shares each among its users.
///
/// # Theory
/// Each adapter has a task that keeps it open and scanning. What is heard goes to the consumers of
/// ``heard()``, names devices that are configured without an address, and lets devices that wait for a link
/// have their turn (``turn(of:)``): see `Hub+Turns`.
///
/// Everything runs on one loop.
package actor Hub {
  /// Opens an adapter on a loop.
  package typealias Opening =
    @Sendable (AdapterName, Loop) async throws(RadioError) -> Adapter
  /// Receives the hub's messages, on the loop.
  package typealias Logging = @Sendable (LogLevel, String) -> Void
  /// Advertisements that wait for one consumer.
  package static let heardLimit = 4096
  /// The pauses between attempts to open an adapter.
  static let adapterPauses: ClosedRange<Duration> = .seconds(1) ... .seconds(15)

  /// The loop on which the gateway runs.
  package nonisolated let loop: Loop
  /// What names the gateway, whatever it is called.
  package nonisolated let identity: GatewayIdentity
  /// Bonds and databases; nil: nothing is kept between runs.
  package nonisolated let store: StoreFile?
  /// Where messages go.
  package nonisolated let logging: Logging
  private let opening: Opening
  /// Why the store cannot be used now; nil if it can, or if there is none.
  package internal(set) var storeFault: StoreError?
  var storeRecovery: Task<Void, Never>?
  /// What was logged of the store's content.
  var storeNotices: Set<String> = []
  /// Restarts the gateway; nil: nobody can.
  private let restarting: (@Sendable () -> Void)?
  private var began = Int64.max
  let whenStoreWorks: @Sendable () async throws(StoreError) -> Void

  /// The configuration now.
  package internal(set) var configuration: Configuration
  var radios: [AdapterName: Radio] = [:]
  /// Configured devices by name.
  var named: [String: Device] = [:]
  /// Devices that only an address names.
  var addressed: [BluetoothAddress: Device] = [:]
  var turns = Turns()
  var listeners: [UInt64: BatchQueue<Heard>] = [:]
  var lastListener: UInt64 = 0
  var slotWatchers: [UInt64: AsyncStream<Slots>.Continuation] = [:]
  var pairingWatchers: [UInt64: BatchQueue<PairingEvent>] = [:]
  /// Questions that wait for an answer, by their IDs.
  var questions: [String: OpenQuestion] = [:]
  var updates = Updates()
  /// Whether scan responses are asked for, where the adapter can do without.
  package internal(set) var scansActively: Bool
  var parameters: [BluetoothAddress: PreferredConnectionParameters] = [:]
  /// The Unix sockets of configured devices, by their names.
  var sharing: [String: Task<Void, Never>] = [:]
  var isRunning = false

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  /// A hub that does nothing until ``run()``.
  ///
  /// - Parameters:
  ///   - identity: nil: the one that the name always has on this machine.
  ///   - opening: opens an adapter; called again when one was unplugged.
  ///   - whenStoreWorks: does what could not be done while the store failed.
  ///   - restarting: ends this hub and starts another one; nil: requests to restart are refused.
  ///   - log: receives messages, on the loop. Must not block.
  package init(
    _ configuration: Configuration, identity: GatewayIdentity? = nil, store: StoreFile? = nil,
    loop: Loop, opening: @escaping Opening = Hub.open,
    whenStoreWorks: @escaping @Sendable () async throws(StoreError) -> Void = {},
    restarting: (@Sendable () -> Void)? = nil,
    log: @escaping Logging = { _, _ in }
  ) {
    self.configuration = configuration
    self.identity = identity ?? GatewayIdentity(name: configuration.name)
    self.store = store
    self.loop = loop
    self.opening = opening
    self.whenStoreWorks = whenStoreWorks
    self.restarting = restarting
    logging = log
    scansActively = configuration.scansActively
  }

  /// Opens a radio of the virtual air or an adapter of the kernel, and switches that on.
  package static let open: Opening = { (name, loop) throws(RadioError) in
    switch name {
    case .air: return try Adapter.virtual(loop: loop)
    case .hci(let index):
      let adapter = try await Adapter.kernel(.adapter(index), loop: loop)
      try await adapter.powerOn()
      return adapter
    }
  }

  /// Logs a message, on the loop.
  package nonisolated func log(_ level: LogLevel, _ text: String) { logging(level, text) }

  /// How long the gateway runs at least until a request can restart it.
  package static let restartPause: Duration = .seconds(10)

  /// Restarts the gateway, as a user asks for it.
  ///
  /// - Throws: `notRestarted` if that was done a moment ago, so that requests cannot keep it from working.
  package func restart() throws(GatewayError) {
    guard let restarting, isRunning, loop.now - began >= Self.restartPause.inNanoseconds else {
      throw .notRestarted(within: Self.restartPause)
    }
    log(.notice, "restarting, as requested")
    restarting()
  }

  /// Holds the links until the task is cancelled. Once.
  package func run() async {
    isRunning = true
    began = loop.now
    for device in configuration.devices { add(device) }
    for name in configuration.adapters { keep(name) }
    let checking = Task(executorPreference: loop.tasks) { await self.checkStore() }
    let resuming = Task(executorPreference: loop.tasks) { await self.resumeUpdates() }
    await untilCancelled()
    isRunning = false
    checking.cancel()
    resuming.cancel()
    for update in updates.plans.values { update.task?.cancel() }
    for update in updates.plans.values { await update.task?.value }
    storeRecovery?.cancel()
    for task in sharing.values { task.cancel() }
    for task in sharing.values { await task.value }
    for device in allDevices { device.here { $0.end() } }
    let held = allDevices.compactMap { $0.here { $0.holding } }
    for task in held { await task.value }
    for radio in radios.values { radio.task?.cancel() }
    for radio in radios.values { await radio.task?.value }
    (named, addressed, radios, sharing) = ([:], [:], [:], [:])
    for queue in listeners.values { queue.end() }
    for watcher in slotWatchers.values { watcher.finish() }
    for watcher in pairingWatchers.values { watcher.end() }
    for watcher in updates.watchers.values { watcher.end() }
  }

  private func untilCancelled() async {
    let _: Void? = try? await loop.withLocalWaiter { (_: Waiter<Void, GatewayError>) in }
  }

  // MARK: Devices

  var allDevices: [Device] { Array(named.values) + Array(addressed.values) }

  /// The configured devices, by name.
  package var devices: [Device] { named.sorted { $0.key < $1.key }.map(\.value) }

  /// Those that only an address names, and that are in use.
  package var addressedDevices: [Device] {
    addressed.sorted { $0.key.value < $1.key.value }.map(\.value)
  }

  /// The configured device of this name.
  ///
  /// - Throws: `unknownDevice`.
  package func device(named name: String) throws(GatewayError) -> Device {
    guard let device = named[name] else { throw .unknownDevice(name) }
    return device
  }

  /// The device with this address: a configured one, or else one that exists until its last user
  /// releases it. Use it without an await in between.
  ///
  /// - Throws: `tooManyDevices`.
  package func device(at address: BluetoothAddress) throws(GatewayError) -> Device {
    for device in named.values where device.here({ $0.address }) == address {
      return device
    }
    if let device = addressed[address] { return device }
    let limit = configuration.limits.devices
    guard named.count + addressed.count < limit else { throw .tooManyDevices(limit: limit) }
    let device = Device(self, at: address)
    addressed[address] = device
    return device
  }

  func add(_ configuration: DeviceConfiguration) {
    let device = Device(self, configured: configuration)
    named[configuration.name] = device
    // Perhaps it is on the air already.
    for radio in radios.values {
      for heard in radio.present.values { identify(device, heard) }
    }
    device.here { $0.wantChanged() }
    share(device, named: configuration.name)
  }

  /// Lets local programs use a device, if the configuration says so.
  func share(_ device: Device, named name: String) {
    sharing.removeValue(forKey: name)?.cancel()
    guard let folder = configuration.endpoints else { return }
    let endpoint = LocalEndpoint(
      device, path: "\(folder)/\(name).att", group: configuration.endpointsGroup,
      clientLimit: configuration.limits.clients)
    sharing[name] = Task(executorPreference: loop.tasks) { await endpoint.run() }
  }

  /// A user has gone: a device that only an address names is dropped with its last user.
  func used(_ device: Device) {
    guard let address = device.here({ $0.name == nil && $0.users.isEmpty ? $0.address : nil }),
      addressed[address] === device
    else { return }
    device.here { $0.isOver = true }
    addressed[address] = nil
  }

  // MARK: Adapters

  /// Keeps an adapter open and scanning.
  func keep(_ name: AdapterName) {
    let radio = Radio(name)
    radios[name] = radio
    radio.task = Task(executorPreference: loop.tasks) { await self.serve(name) }
  }

  private func serve(_ name: AdapterName) async {
    guard let radio = radios[name] else { return }
    var pause = Self.adapterPauses.lowerBound
    while !Task.isCancelled {
      let began = loop.now
      do throws(RadioError) {
        radio.phase = .starting
        let adapter = try await opening(radio.name, loop)
        radio.adapter = adapter
        try? await adapter.setAgent(GatewayAgent(self))
        try await scan(radio, adapter)
      } catch {
        guard !Task.isCancelled else { break }
        // An adapter that may be opened and cannot scan fails again and again.
        if loop.now - began > Self.adapterPauses.upperBound.inNanoseconds {
          pause = Self.adapterPauses.lowerBound
          radio.failure = nil
        }
        if radio.failure != error { log(.error, "adapter \(radio.name): \(error)") }
        radio.failure = error
        radio.phase = .failed(error)
      }
      radio.present = [:]
      // Without permission to scan, an adapter of the kernel still connects.
      if await radio.adapter?.state != .poweredOn || radio.name == .air { radio.adapter = nil }
      reconsider()
      do { try await loop.sleep(for: pause) } catch { break }
      pause = min(pause * 2, Self.adapterPauses.upperBound)
    }
    radio.adapter = nil
  }
}
