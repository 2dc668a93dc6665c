public import EventLoop

/// The adapters of this machine's kernel. Looking at them needs no permission.
public actor KernelAdapters {
  /// Changes that may wait to be taken; the oldest are dropped beyond.
  public static let changeLimit = 256

  /// Where everything runs.
  public nonisolated let loop: Loop
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }
  private var channel: ManagementChannel?
  private var known: [UInt16: AdapterInformation] = [:]
  private var watchers: [Int: AsyncStream<AdapterChange>.Continuation] = [:]
  private var nextWatcher = 0

  /// Adapters that are looked at, and opened, on this loop.
  @_semantics("optimize.no.crossmodule")
  public init(loop: Loop = .shared) { self.loop = loop }

  isolated deinit {
    channel?.close()
    for watcher in watchers.values { watcher.finish() }
  }

  /// What is there now, by index.
  ///
  /// - Throws: `link` where the kernel has no Bluetooth, `managementSilent`, `system`.
  public func list() async throws(RadioError) -> [AdapterInformation] {
    let list = try await open().adapters()
    known = Dictionary(list.map { ($0.index, $0) }, uniquingKeysWith: { first, _ in first })
    return list
  }

  /// What is there now, and what changes from then on, for one consumer; until it is released.
  ///
  /// - Throws: what ``list()`` throws.
  public func changes() async throws(RadioError) -> AsyncStream<AdapterChange> {
    let list = try await list()
    let (stream, continuation) = AsyncStream<AdapterChange>.makeStream(
      bufferingPolicy: .bufferingNewest(Self.changeLimit))
    let id = nextWatcher
    nextWatcher += 1
    // Held strongly: whoever watches wants this to live.
    continuation.onTermination = { _ in self.loop.execute { self.assumeIsolated { $0.end(id) } } }
    watchers[id] = continuation
    for information in list { continuation.yield(.added(information)) }
    return stream
  }

  private func end(_ id: Int) { watchers[id] = nil }

  /// For tests, which have the socket's other end.
  func begin(socket: Int32) throws(RadioError) { _ = try open(socket: socket) }

  func open(socket: Int32? = nil) throws(RadioError) -> ManagementChannel {
    if let channel { return channel }
    let observer: (UInt16, ManagementEvent) -> Void = { [weak self] index, event in
      self?.assumeIsolated { $0.take(index, event) }
    }
    let channel =
      if let socket {
        try ManagementChannel(socket, on: loop, observer)
      } else {
        try ManagementChannel(on: loop, observer)
      }
    self.channel = channel
    return channel
  }

  private func take(_ index: UInt16, _ event: ManagementEvent) {
    switch event {
    case .indexAdded:
      Task { [weak self] in await self?.look(at: index) }
    case .indexRemoved:
      known[index] = nil
      tell(.removed(index))
    case .newSettings(let settings):
      known[index]?.settings = settings
      if let information = known[index] { tell(.changed(information)) }
    case .nameChanged(let name):
      known[index]?.name = name
      if let information = known[index] { tell(.changed(information)) }
    default: break
    }
  }

  private func look(at index: UInt16) async {
    // Gone again already: nobody missed it.
    guard let information = try? await channel?.information(index) else { return }
    known[index] = information
    tell(.added(information))
  }

  private func tell(_ change: AdapterChange) {
    for watcher in watchers.values { watcher.yield(change) }
  }
}

/// What happens to the adapters of a machine.
public enum AdapterChange: Hashable, Sendable {
  /// An adapter was plugged in, or was there from the beginning.
  case added(AdapterInformation)
  /// Settings or the name are not what they were.
  case changed(AdapterInformation)
  /// The N of hciN.
  case removed(UInt16)
}
