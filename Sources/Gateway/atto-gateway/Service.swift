import Atto
import AttoEventLoop
import AttoGateway
import AttoStore
import CAttoLinux
import Glibc

/// A running gateway: the hub, the front ends, the status, and the signals.
actor Service {
  private let file: String
  private let control: String?
  private let signals: Int32
  private let loop: Loop
  private let log: Log
  private var configuration: Configuration
  private let manager: ServiceManager
  private var frontEnds: FrontEnds?
  private var hub: Hub?
  private var bonds: [AdapterName: BondKeeper] = [:]
  /// What was logged last about the bonds of an adapter.
  private var bondNotices: [AdapterName: [String]] = [:]
  private var servers: StatusServers?
  private var main: Task<Int32, Never>?
  private var reloading: Task<Void, Never>?
  private var began: Int64 = 0
  /// Whether the gateway starts again when it has ended.
  private var restarts = false

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  init(
    _ file: String, _ configuration: Configuration, control: String?, _ signals: Int32,
    _ loop: Loop, _ log: Log
  ) {
    self.file = file
    self.configuration = configuration
    self.control = control
    self.signals = signals
    self.loop = loop
    self.log = log
    manager = ServiceManager(on: loop)
  }

  /// - Returns: the exit status.
  func run() async -> Int32 {
    watchSignals()
    while true {
      began = loop.now
      restarts = false
      let main = Task(executorPreference: loop.tasks) { await self.serve() }
      self.main = main
      // A signal may have come between two of them.
      if isEnding { main.cancel() }
      let status = await main.value
      guard restarts, !isEnding else { return status }
      bonds = [:]
      do throws(ConfigurationError) { configuration = try await Self.read(file).get() } catch {
        log.add(.error, "the configuration stays as it was: \(error)")
      }
    }
  }

  private func restart() {
    restarts = true
    main?.cancel()
  }

  private func serve() async -> Int32 {
    let log = log
    var store: StoreFile?
    var storeFault: StoreError?
    do throws(StoreError) {
      store = try StoreFile(openedLater: storePath)
    } catch {
      storeFault = error
    }
    let opening: Hub.Opening = { (name, loop) throws(RadioError) in
      await self.loadBonds(of: name)
      return try await Hub.open(name, loop)
    }
    let (identity, identityProblem) = identity
    let hub = Hub(
      configuration, identity: identity, store: store, loop: loop, opening: opening,
      whenStoreWorks: { () throws(StoreError) in try await self.resumeBonds() },
      restarting: { self.assumeIsolated { $0.restart() } },
      log: { log.add($0, $1) })
    self.hub = hub
    if let storeFault { await hub.storeFailed(storeFault) }
    if let identityProblem {
      log.add(
        .warning,
        "under another name Home Assistant will not recognise the gateway: \(identityProblem)")
    }
    let frontEnds = FrontEnds(FrontEndKind.all, on: hub)
    self.frontEnds = frontEnds
    let servers = StatusServers(hub, log) { [began] in
      await hub.status(of: frontEnds, since: began, version: Version.number)
    }
    self.servers = servers
    let holding = Task(executorPreference: loop.tasks) { await hub.run() }
    if !Task.isCancelled {
      await servers.apply(control: controlPath, metrics: configuration.metrics)
      await frontEnds.apply(configuration)
      manager.ready()
      warn()
      log.add(.notice, "\(configuration.name): configured devices: \(configuration.devices.count)")
    }
    while !Task.isCancelled { do { try await loop.sleep(for: .seconds(3600)) } catch { break } }
    if restarts { manager.reloading() } else { manager.stopping() }
    log.add(.notice, "ending")
    reloading?.cancel()
    await reloading?.value
    await servers.end()
    await frontEnds.end()
    holding.cancel()
    await holding.value
    for keeper in bonds.values { await keeper.close() }
    return 0
  }

  private func warn() {
    for warning in configuration.warnings(file: file) { log.add(.warning, warning) }
  }

  // MARK: The store

  /// nil for the default path.
  private var storePath: String? {
    configuration.store ?? configuration.stateFolder.map { "\($0)/store.sqlite" }
  }

  /// The gateway's identity, and why it depends on the name; nil if it does not, or if there is no state folder.
  private var identity: (GatewayIdentity, String?) {
    guard let stateFolder = configuration.stateFolder else {
      return (GatewayIdentity(name: configuration.name), nil)
    }
    return GatewayIdentity.kept(in: stateFolder, name: configuration.name)
  }

  /// Loads the bonds of an adapter into the kernel, and keeps new ones from now on. Again each time that the
  /// adapter is opened: the kernel forgets the bonds of one that is unplugged.
  private func loadBonds(of name: AdapterName) async {
    guard case .hci(let index) = name, let hub, let store = hub.store else { return }
    let log = log
    await bonds.removeValue(forKey: name)?.close()
    var notices: [String]
    do throws(RadioError) {
      let keeper = try await BondKeeper.begin(store, source: .adapter(index), loop: loop) { _ in
      } onFailure: { error in
        if error.isLasting {
          hub.assumeIsolated { $0.storeFailed(error) }
        } else {
          log.add(.error, "a bond could not be stored: \(error)")
        }
      }
      bonds[name] = keeper
      if let fault = keeper.fault { return await hub.storeFailed(fault) }
      notices = keeper.notices
    } catch .noAdapter {
      // The hub reports it.
      return
    } catch {
      notices = ["the bonds of \(name) are not kept: \(error)"]
    }
    show(notices, of: name)
  }

  /// The store works after a failure.
  private func resumeBonds() async throws(StoreError) {
    for (name, keeper) in bonds { show(try await keeper.resume(), of: name) }
  }

  private func show(_ notices: [String], of name: AdapterName) {
    if bondNotices.updateValue(notices, forKey: name) != notices {
      for notice in notices { log.add(.warning, notice) }
    }
  }

  // MARK: Signals

  private nonisolated func watchSignals() {
    guard signals >= 0 else { return }
    let handler = SignalHandler(signals) { [weak self] number in
      guard let self else { return }
      self.assumeIsolated { $0.received(number) }
    }
    if (try? loop.watch(signals, handler)) == nil {
      log.add(.error, "signals cannot be watched")
    }
  }

  private var isEnding = false

  private func received(_ number: Int32) {
    guard number == SIGHUP else {
      // The second one ends a gateway that does not end in order.
      if isEnding { _exit(128 + number) }
      isEnding = true
      main?.cancel()
      return
    }
    let before = reloading
    reloading = Task(executorPreference: loop.tasks) {
      await before?.value
      if !Task.isCancelled { await self.reload() }
    }
  }

  /// Reads the configuration again. A bad file changes nothing.
  private func reload() async {
    manager.reloading()
    let result = await Self.read(file)
    do throws(ConfigurationError) {
      let new = try result.get()
      configuration = new
      log.show(new.log)
      await hub?.reload(new)
      await servers?.apply(control: controlPath, metrics: new.metrics)
      await frontEnds?.apply(new)
      warn()
      log.add(.notice, "\(new.name): the configuration was read again")
    } catch {
      log.add(.error, "the configuration stays as it was: \(error)")
    }
    manager.ready()
  }

  /// Reading may block.
  private static func read(_ file: String) async -> Result<Configuration, ConfigurationError> {
    await Task.detached {
      Result { () throws(ConfigurationError) in try Configuration(contentsOfFile: file) }
    }.value
  }

  private var controlPath: String? {
    control ?? environment("RUNTIME_DIRECTORY").map { "\($0)/control" }
      ?? environment("XDG_RUNTIME_DIR").map { "\($0)/atto-gateway/control" }
  }
}

/// Reads signals from a descriptor.
private final class SignalHandler: ReadinessHandler {
  private let descriptor: Int32
  private let body: (Int32) -> Void

  init(_ descriptor: Int32, _ body: @escaping (Int32) -> Void) {
    self.descriptor = descriptor
    self.body = body
  }

  func ready(_ readiness: Readiness) {
    while case let number = clinux_signalfd_read(descriptor), number != 0 { body(number) }
  }
}
