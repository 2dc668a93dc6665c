import Atto
import AttoCommandLine
import AttoKernelRadio
import AttoStore

/// The saved bonds of a command that talks to an LE peer. The kernel gets the saved keys, and new keys
/// are saved.
///
/// A command that does not pair, with a peer without a bond, only reads the store, if there is one.
package struct SavedBonds: Sendable {
  package var store: StoreFile?
  private var keeper: BondKeeper?
  /// Whether a bond with the peer was saved before.
  private var wasBonded = false
  /// Yields for each link key that is saved.
  private let linkKeys = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

  package init(store: StoreFile? = nil, keeper: BondKeeper? = nil) {
    (self.store, self.keeper) = (store, keeper)
  }

  /// How long to wait for the keys after the link is encrypted.
  private static let keyTimeout: Duration = .seconds(2)

  /// - Parameters:
  ///   - peer: nil for a server, whose clients are not known in advance.
  ///   - mayPair: whether this command may create a bond.
  ///   - whenSaved: runs for each key that is saved.
  package static func begin(
    _ options: StoreOptions, _ source: L2CAPSource, peer: BluetoothAddress?, mayPair: Bool,
    on loop: Loop, whenSaved: @escaping @Sendable (BondKey) -> Void = { _ in }
  ) async throws -> SavedBonds {
    var bonds = SavedBonds()
    // Opened first: without a radio no store is created.
    let keyring =
      mayPair && !options.isOff
      ? try await KernelKeyring.open(source, ofAll: peer == nil, loop: loop) : nil
    do {
      guard let store = try await options.openIfPossible(creates: mayPair) else { return bonds }
      bonds.store = store
      if let peer { bonds.wasBonded = try await !store.bonds(with: peer).isEmpty }
    } catch let error as StoreError where !mayPair {
      // The command works without a store.
      Terminal.note("warning: \(error)")
      return SavedBonds()
    }
    guard let store = bonds.store, mayPair || bonds.wasBonded else { return bonds }
    let used = if let keyring { keyring } else { try await KernelKeyring.open(source, loop: loop) }
    let linkKeySaved = bonds.linkKeys.continuation
    let keeper = try await BondKeeper.begin(
      store, used,
      whenKept: { key in
        if case .longTerm = key { linkKeySaved.yield() }
        whenSaved(key)
      }, onFailure: StoreOptions.report)
    for line in keeper.notices.flatMap(Terminal.lines) { Terminal.note(line) }
    bonds.keeper = keeper
    return bonds
  }

  /// Waits for the keys of a new bond, which arrive after the link is encrypted, and closes.
  package func end(after security: LinkSecurity? = nil, on loop: Loop) async {
    if let store, keeper != nil, !wasBonded, let security, security.level > .low {
      let alarm = loop.after(Self.keyTimeout) { linkKeys.continuation.finish() }
      var isKept = false
      for await _ in linkKeys.stream {
        isKept = true
        break
      }
      alarm.cancel()
      if !isKept, !Task.isCancelled {
        Terminal.note(
          "warning: the link is encrypted, but no key was saved in \(store.path): the peer does not"
            + " bond, or the kernel already has the key",
          "hint: in the latter case, run atto unpair and pair again")
      }
    }
    await keeper?.close()
  }
}
