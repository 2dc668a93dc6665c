import Atto
import Store

/// What a command that talks to an LE peer has of kept bonds: the kernel is given the keys, and
/// what pairing makes is kept.
///
/// A peer that is not bonded with, and shall not be paired with, costs a look into the store if
/// there is one, and nothing else.
struct KeptBonds: Sendable {
  let store: StoreFile?
  private let keeper: BondKeeper?
  /// Whether the peer was bonded with from the beginning, as far as is kept.
  private let wasBonded: Bool
  /// Goes on with each link key that is kept.
  private let linkKeys: AsyncStream<Void>
  private let linkKept: AsyncStream<Void>.Continuation

  static let none = KeptBonds(store: nil, keeper: nil, wasBonded: false)

  /// How long the keys may take to come after the link is encrypted.
  private static let keyTime: Duration = .seconds(2)

  private init(
    store: StoreFile?, keeper: BondKeeper?, wasBonded: Bool,
    _ stream: (stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation) =
      AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  ) {
    self.store = store
    self.keeper = keeper
    self.wasBonded = wasBonded
    (linkKeys, linkKept) = (stream.stream, stream.continuation)
  }

  /// - Parameters:
  ///   - peer: nil for a server, whose clients may be anybody.
  ///   - mayPair: whether this command may lead to a bond.
  static func begin(
    _ options: StoreOptions, _ source: L2CAPSource, peer: BluetoothAddress?, mayPair: Bool,
    on loop: Loop, whenKept: @escaping @Sendable (BondKey) -> Void = { _ in }
  ) async throws -> KeptBonds {
    let store: StoreFile
    let isBonded: Bool
    // Before a store is made where there is no radio.
    let keyring =
      mayPair && !options.isOff
      ? try await KernelKeyring.open(source, ofAll: peer == nil, loop: loop) : nil
    do {
      guard let opened = try options.openIfPossible(creates: mayPair) else { return none }
      store = opened
      isBonded = try peer.map { peer in try store.bonds().contains { $0.peer == peer } } ?? false
      guard mayPair || isBonded else {
        return KeptBonds(store: store, keeper: nil, wasBonded: false)
      }
    } catch let error as StoreError where !mayPair {
      // It works as well as without a store, which is what most commands want.
      Terminal.note("\(error)")
      return none
    }
    let stream = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let used =
      if let keyring { keyring } else { try await KernelKeyring.open(source, loop: loop) }
    let keeper = try await BondKeeper.begin(
      store, used,
      whenKept: { key in
        if case .longTerm = key { stream.continuation.yield() }
        whenKept(key)
      }, onFailure: StoreOptions.report)
    for notice in keeper.notices { Terminal.note(notice) }
    return KeptBonds(store: store, keeper: keeper, wasBonded: isBonded, stream)
  }

  /// A command that has talked over an encrypted link is about to end: if it has led to a bond,
  /// its keys, which come after the encryption, are waited for.
  func end(after security: LinkSecurity? = nil, on loop: Loop) async {
    if let store, keeper != nil, !wasBonded, let security, security.level > .low {
      let alarm = Task(executorPreference: loop.tasks) {
        try? await loop.sleep(for: Self.keyTime)
        linkKept.finish()
      }
      var isKept = false
      for await _ in linkKeys {
        isKept = true
        break
      }
      alarm.cancel()
      if !isKept, !Task.isCancelled {
        Terminal.note(
          "the link is encrypted, and no key of it came to be kept in \(store.path): either the"
            + " peer does not bond, or the kernel knew the key already (atto unpair, and pair anew)"
        )
      }
    }
    await keeper?.close()
  }
}
