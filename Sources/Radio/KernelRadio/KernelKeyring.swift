public import AttoEventLoop
public import AttoLinks
public import AttoRadio

/// The keys of the kernel's adapters. Reports keys that pairing makes, and loads those of earlier
/// bonds. It answers no questions of pairing, so it can be used beside a program that does.
///
/// Loading requires CAP_NET_ADMIN, and replaces all keys that the kernel has for the adapter,
/// including those of other programs.
public actor KernelKeyring {
  /// The loop on which everything runs.
  public nonisolated let loop: Loop
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }
  /// The adapters whose keys are reported, as they were when the keyring was opened.
  public private(set) var adapters: [AdapterInformation] = []
  private var channel: ManagementChannel?
  private var observer: (@Sendable (BondKey, _ adapter: BluetoothAddress) -> Void)?

  /// Opens the keys of the adapter that `Adapter.kernel(_:loop:)` would choose, or of all.
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

  /// - Parameter socket: carries management frames, in place of the kernel's socket.
  func begin(
    _ source: L2CAPSource, _ ofAll: Bool, socket: Int32? = nil
  ) async throws(RadioError) {
    let channel = try ManagementChannel(socket, on: loop) { [weak self] index, event in
      self?.assumeIsolated { $0.receive(index, event) }
    }
    self.channel = channel
    let list = try await channel.adapters()
    adapters = ofAll && source == .any ? list : [try list.adapter(for: source)]
  }

  /// Calls `body` on the loop with each key that the kernel asks to store, and the address of its
  /// adapter.
  public func observe(
    _ body: @escaping @Sendable (BondKey, _ adapter: BluetoothAddress) -> Void
  ) {
    observer = body
  }

  private func receive(_ index: UInt16, _ event: ManagementEvent) {
    guard case .newKey(let key, isToStore: true) = event,
      let adapter = adapters.first(where: { $0.index == index })
    else { return }
    observer?(key, adapter.address)
  }

  /// Replaces the keys and identities that the kernel has for an adapter. Without keys those that it
  /// has stay.
  ///
  /// Once identities are loaded, even none, the kernel asks peers for theirs when they pair.
  ///
  /// - Throws: `management` with `permissionDenied` or `invalidParameters`, `unsupported` for more
  ///   than fit into a frame, `managementSilent`, `closed`.
  public func load(
    _ keys: [LongTermKey], _ identities: [IdentityResolvingKey], to index: UInt16
  ) async throws(RadioError) {
    guard let channel else { throw .closed }
    let counted = try managementList(identities.map(\.octets))
    try await channel.command(.loadIdentityKeys, index, counted)
    guard !keys.isEmpty else { return }
    let keyed = try managementList(keys.map(\.octets))
    try await channel.command(.loadLongTermKeys, index, keyed)
  }

  /// Returns when all earlier events of the kernel have been reported. The kernel sends events and
  /// answers in order, and this waits for an answer.
  public func catchUp() async {
    guard let channel, let adapter = adapters.first else { return }
    // An error is an answer, too.
    _ = try? await channel.information(adapter.index)
  }

  /// Closes the management socket.
  public func close() {
    observer = nil
    channel?.close()
    channel = nil
  }
}
