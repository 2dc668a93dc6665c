public import EventLoop
public import Links

/// The kernel's keys of some adapters: hears of those that pairing makes, and gives the kernel
/// those of earlier bonds. It answers no question of pairing, so that it stands beside whoever
/// does. Bound to its loop like ``KernelAdapter``.
///
/// Loading wants CAP_NET_ADMIN, and replaces all that the kernel has for the adapter: keys that
/// another program has loaded are gone from the kernel, though not from where that program keeps
/// them.
public actor KernelKeyring {
  /// Where everything runs.
  public nonisolated let loop: Loop
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }
  /// The adapters that it is about, as they were when it was opened.
  public private(set) var adapters: [AdapterInformation] = []
  private var channel: ManagementChannel?
  private var observer: (@Sendable (BondKey, _ adapter: BluetoothAddress) -> Void)?

  /// Opens the keys of the adapter that ``KernelAdapter/open(_:loop:)`` would choose, or of all.
  ///
  /// - Throws: `link` where the kernel has no Bluetooth, `noAdapter`, `managementSilent`,
  ///   `system`.
  public static func open(
    _ source: L2CAPSource = .any, ofAll: Bool = false, loop: Loop = .shared
  ) async throws(RadioError) -> KernelKeyring {
    let keyring = KernelKeyring(loop: loop)
    try await keyring.begin(source, ofAll)
    return keyring
  }

  @_semantics("optimize.no.crossmodule")
  init(loop: Loop) { self.loop = loop }

  isolated deinit { channel?.close() }

  /// - Parameter socket: one that carries frames, in place of the kernel's.
  func begin(
    _ source: L2CAPSource, _ ofAll: Bool, socket: Int32? = nil
  ) async throws(RadioError) {
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
    let list = try await channel.adapters()
    if ofAll, source == .any {
      adapters = list
    } else {
      adapters = [try KernelAdapter.choose(source, among: list)]
    }
  }

  /// Calls `body` on the loop with each key that the kernel advises to store, and the address of
  /// the adapter that it belongs to.
  public func observe(
    _ body: @escaping @Sendable (BondKey, _ adapter: BluetoothAddress) -> Void
  ) {
    observer = body
  }

  private func take(_ index: UInt16, _ event: ManagementEvent) {
    guard case .newKey(let key, isToStore: true) = event,
      let adapter = adapters.first(where: { $0.index == index })
    else { return }
    observer?(key, adapter.address)
  }

  /// Gives the kernel keys and identities of an adapter's bonds, in place of all that it has.
  ///
  /// That the kernel has identities, be they none, makes it ask peers for theirs when they pair.
  ///
  /// - Throws: `management` with `permissionDenied` or `invalidParameters`, `unsupported` for more
  ///   than fit into a frame, `managementSilent`, `closed`.
  public func load(
    _ keys: [LongTermKey], _ identities: [IdentityResolvingKey], to index: UInt16
  ) async throws(RadioError) {
    guard let channel else { throw .closed }
    let counted = try KernelAdapter.counted(identities.map(\.octets))
    try await channel.command(.loadIdentityKeys, index, counted)
    guard !keys.isEmpty else { return }
    let keyed = try KernelAdapter.counted(keys.map(\.octets))
    try await channel.command(.loadLongTermKeys, index, keyed)
  }

  /// Returns when everything has been heard of that the kernel told before: what it tells one
  /// socket comes in order, and this asks it something.
  public func catchUp() async {
    guard let channel, let adapter = adapters.first else { return }
    // Whatever comes of it, the answer came last.
    _ = try? await channel.information(adapter.index)
  }

  /// Hears of nothing more.
  public func close() {
    observer = nil
    channel?.close()
    channel = nil
  }
}
