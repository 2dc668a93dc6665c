public import AttoEventLoop
public import AttoLinks
public import AttoRadio

/// The Bluetooth adapters of this machine's kernel. Listing them requires no permission.
public actor KernelAdapters {
  /// Changes that may wait. Beyond that the oldest are dropped.
  public static let changeLimit = 256

  /// The loop on which everything runs.
  public nonisolated let loop: Loop
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }
  private var channel: ManagementChannel?
  private var known: [UInt16: AdapterInformation] = [:]
  private var watchers: [Int: AsyncStream<AdapterChange>.Continuation] = [:]
  private var nextWatcher = 0

  /// The adapters are watched on this loop.
  @_semantics("optimize.no.crossmodule")
  public init(loop: Loop = .shared) { self.loop = loop }

  isolated deinit {
    channel?.close()
    for watcher in watchers.values { watcher.finish() }
  }

  /// The adapters, by index.
  ///
  /// - Throws: `link` where the kernel has no Bluetooth, `managementSilent`, `system`.
  public func list() async throws(RadioError) -> [AdapterInformation] {
    let list = try await open().adapters()
    known = Dictionary(list.map { ($0.index, $0) }, uniquingKeysWith: { first, _ in first })
    return list
  }

  /// The adapters as changes of kind `added`, and then what changes, for one consumer, until it is
  /// released.
  ///
  /// - Throws: what ``list()`` throws.
  public func changes() async throws(RadioError) -> AsyncStream<AdapterChange> {
    let list = try await list()
    let (stream, continuation) = AsyncStream<AdapterChange>.makeStream(
      bufferingPolicy: .bufferingNewest(Self.changeLimit))
    let id = nextWatcher
    nextWatcher += 1
    // Held: the stream keeps the socket open.
    continuation.onTermination = { _ in self.loop.execute { self.assumeIsolated { $0.end(id) } } }
    watchers[id] = continuation
    for information in list { continuation.yield(.added(information)) }
    return stream
  }

  private func end(_ id: Int) { watchers[id] = nil }

  /// - Parameter socket: carries management frames in place of the kernel's socket, in tests.
  @discardableResult func open(socket: Int32? = nil) throws(RadioError) -> ManagementChannel {
    if let channel { return channel }
    let channel = try ManagementChannel(socket, on: loop) { [weak self] index, event in
      self?.assumeIsolated { $0.receive(index, event) }
    }
    self.channel = channel
    return channel
  }

  private func receive(_ index: UInt16, _ event: ManagementEvent) {
    switch event {
    case .indexAdded:
      Task { [weak self] in await self?.read(index) }
    case .indexRemoved:
      known[index] = nil
      report(.removed(index))
    case .newSettings(let settings):
      known[index]?.settings = settings
      if let information = known[index] { report(.changed(information)) }
    case .nameChanged(let name):
      known[index]?.name = name
      if let information = known[index] { report(.changed(information)) }
    default: break
    }
  }

  private func read(_ index: UInt16) async {
    // It may have been removed again.
    guard let information = try? await channel?.information(index) else { return }
    known[index] = information
    report(.added(information))
  }

  private func report(_ change: AdapterChange) {
    for watcher in watchers.values { watcher.yield(change) }
  }
}

/// A change of the machine's adapters.
public enum AdapterChange: Hashable, Sendable {
  /// An adapter was added, or was there at the beginning.
  case added(AdapterInformation)
  /// The settings or the name of an adapter have changed.
  case changed(AdapterInformation)
  /// An adapter was removed: the N of hciN.
  case removed(UInt16)
}

extension [AdapterInformation] {
  /// The adapter that a source names; without a name the first that is powered, else the first.
  ///
  /// - Throws: `noAdapter`.
  func adapter(for source: L2CAPSource) throws(RadioError) -> AdapterInformation {
    let matching = matching(source)
    guard let chosen = matching.first(where: { $0.settings.contains(.powered) }) ?? matching.first
    else { throw .noAdapter(String(source.suffix.dropFirst())) }
    return chosen
  }

  func matching(_ source: L2CAPSource) -> [AdapterInformation] {
    switch source {
    case .any: self
    case .adapter(let index): filter { $0.index == index }
    case .address(let address): filter { $0.address.value == address.value }
    }
  }
}

extension KernelAdapters {
  /// Why no adapter of a source can have a link: `noAdapter`, `unplugged` or `poweredOff`.
  ///
  /// A socket does not report that its link ended because of the adapter. nil if an adapter is powered
  /// on, or if the kernel cannot be asked.
  public func failure(of source: L2CAPSource) async -> RadioError? {
    guard let adapters = try? await list().matching(source) else { return nil }
    guard let first = adapters.first else {
      return if case .adapter(let index) = source { .unplugged("hci\(index)") } else {
        .noAdapter("")
      }
    }
    let isUsable = adapters.contains { $0.settings.isSuperset(of: [.powered, .le]) }
    return isUsable ? nil : .poweredOff(first.label)
  }

  /// What the management socket reports beside the adapters.
  package struct Survey: Sendable {
    package var adapters: [AdapterInformation]
    /// Adapters that the kernel does not use until they have an address or other configuration.
    package var unconfigured: [UInt16]
    /// The codes of commands that this process may use; nil if the kernel does not report them.
    package var commands: Set<UInt16>?
    /// The default parameters of adapters, by index.
    package var defaults: [UInt16: AdapterDefaults]
  }

  /// Lists adapters that are ready and adapters that are not, and the commands of this process.
  ///
  /// - Throws: `link` where the kernel has no Bluetooth, `managementSilent`, `system`.
  package func survey() async throws(RadioError) -> Survey {
    let channel = try open()
    let adapters = try await channel.adapters()
    // Linux before 4.0 does not support these.
    let unconfigured = (try? await channel.command(.readUnconfiguredIndexList)).flatMap {
      ManagementChannel.numbers($0)
    }
    var defaults: [UInt16: AdapterDefaults] = [:]
    for adapter in adapters { defaults[adapter.index] = await channel.defaults(adapter.index) }
    return Survey(
      adapters: adapters, unconfigured: unconfigured ?? [], commands: try? await channel.commands(),
      defaults: defaults)
  }
}
