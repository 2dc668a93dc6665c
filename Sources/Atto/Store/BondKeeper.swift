import Atto
import AttoKernelRadio
import Glibc
import Synchronization

/// Keeps the bonds of the kernel and of a store in step, for as long as it lives: loads the stored
/// bonds into the kernel, and stores the keys of later pairings, by any program.
///
/// # Theory
/// The kernel accepts keys only all at once, and they replace those it has. So everything that the
/// store has for the adapter is loaded. A key of a pairing that completes after the store was read
/// and before the kernel has replaced its keys is reported before the kernel's response; then the
/// store is read and loaded again.
///
/// The kernel reports the keys of a pairing one after the other without a pause. Keys reported in one
/// turn of the loop are stored in one transaction, so that a process that is killed leaves all of
/// them or none.
///
/// Keys that cannot be stored because the store fails are kept in memory, and stored with the next keys, by
/// ``catchUp()``, or by `resume()`.
///
/// bluetoothd keeps keys of its own in the kernel and would lose them until it is restarted. While it
/// runs nothing is loaded, and ``notices`` says so.
public final class BondKeeper: Sendable {
  /// Messages for the user, for instance why keys were not loaded.
  public let notices: [String]
  /// Why the store could not be read; nil if it could.
  package let fault: StoreError?
  private let store: StoreFile
  private let keyring: KernelKeyring
  private let heard: HeardKeys

  /// Loads an adapter's bonds and starts to store new ones.
  ///
  /// - Parameters:
  ///   - source: the adapter; `.any` is the default adapter, or with `ofAll` all adapters.
  ///   - whenKept: called on the loop after a key was stored.
  ///   - onFailure: called on the loop when storing failed.
  /// - Throws: as `KernelKeyring` does, except for missing permission, which is a notice.
  public static func begin(
    _ store: StoreFile, source: L2CAPSource = .any, ofAll: Bool = false, loop: Loop = .shared,
    whenKept: @escaping @Sendable (BondKey) -> Void = { _ in },
    onFailure: @escaping @Sendable (StoreError) -> Void = { _ in }
  ) async throws(RadioError) -> BondKeeper {
    let keyring = try await KernelKeyring.open(source, ofAll: ofAll, loop: loop)
    return try await begin(store, keyring, whenKept: whenKept, onFailure: onFailure)
  }

  /// Loads and stores the bonds of a keyring that is already open.
  public static func begin(
    _ store: StoreFile, _ keyring: KernelKeyring,
    whenKept: @escaping @Sendable (BondKey) -> Void = { _ in },
    onFailure: @escaping @Sendable (StoreError) -> Void = { _ in }
  ) async throws(RadioError) -> BondKeeper {
    let heard = HeardKeys(store, keyring.loop, whenKept: whenKept, onFailure: onFailure)
    await keyring.observe { key, adapter in heard.add(key, adapter) }
    return BondKeeper(store, keyring, heard, try await load(store, keyring, heard))
  }

  private init(
    _ store: StoreFile, _ keyring: KernelKeyring, _ heard: HeardKeys, _ loaded: Loaded
  ) {
    self.store = store
    self.keyring = keyring
    self.heard = heard
    notices = loaded.notice.map { [$0] } ?? []
    fault = loaded.fault
  }

  /// A notice for the user, and why the store could not be read.
  private typealias Loaded = (notice: String?, fault: StoreError?)

  /// Stores the keys that could not be stored, and loads the store's bonds into the kernel, after the store has
  /// failed.
  ///
  /// - Returns: notices for the user.
  /// - Throws: if the store fails still. Then nothing is loaded, because that would drop the keys of later
  ///   pairings from the kernel.
  package func resume() async throws(StoreError) -> [String] {
    if let error = await storeKeys() { throw error }
    let loaded: Loaded
    do throws(RadioError) {
      loaded = try await Self.load(store, keyring, heard)
    } catch {
      return ["the bonds are not loaded into the kernel: \(error)"]
    }
    if let fault = loaded.fault { throw fault }
    return loaded.notice.map { [$0] } ?? []
  }

  /// Loads the bonds of all adapters of the keyring.
  private static func load(
    _ store: StoreFile, _ keyring: KernelKeyring, _ heard: HeardKeys
  ) async throws(RadioError) -> Loaded {
    if let process = Self.otherKeeper() {
      let notice =
        "the bonds of \(store.path) are not loaded into the kernel, because bluetoothd (process"
        + " \(process)) would lose its own\nhint: systemctl stop bluetooth"
      return (notice, nil)
    }
    for adapter in await keyring.adapters {
      let loaded = try await load(store, keyring, adapter, heard)
      if loaded.notice != nil { return loaded }
    }
    return (nil, nil)
  }

  private static func load(
    _ store: StoreFile, _ keyring: KernelKeyring, _ adapter: AdapterInformation,
    _ heard: HeardKeys
  ) async throws(RadioError) -> Loaded {
    // Every further round follows a pairing, which takes longer than a round.
    for _ in 0..<4 {
      let before = heard.count
      let bonds: [Bond]
      do throws(StoreError) {
        bonds = try await store.bonds(of: adapter.address)
      } catch {
        // The kernel asks peers for their identities only once some were loaded. Where there is no file yet, there are
        // none that this would replace.
        switch error {
        case .missing, .full, .system("created", _, _):
          _ = try? await keyring.load([], [], to: adapter.index)
        default: break
        }
        return ("the bonds are not loaded into the kernel: \(error)", error)
      }
      do throws(RadioError) {
        // If the kernel refuses one address, it loads no key at all.
        let loadable = bonds.filter { PeerName.isStable($0.peer) }
        try await keyring.load(
          loadable.flatMap(\.longTermKeys), loadable.compactMap(\.identityKey),
          to: adapter.index)
      } catch .management(_, .permissionDenied, _) {
        guard !bonds.isEmpty else { return (nil, nil) }
        let notice =
          "the bonds of \(store.path) are not loaded into the kernel: CAP_NET_ADMIN is missing"
          + "\nhint: work as root, or: sudo setcap cap_net_admin+eip on the program"
        return (notice, nil)
      }
      if heard.count == before { return (nil, nil) }
    }
    return (nil, nil)
  }

  /// Returns the process ID of bluetoothd, if this process can see it.
  static func otherKeeper() -> Int32? {
    guard let folder = opendir("/proc") else { return nil }
    defer { closedir(folder) }
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      guard let process = Int32(name), let file = fopen("/proc/\(process)/comm", "re") else {
        continue
      }
      defer { fclose(file) }
      var line = [UInt8](repeating: 0, count: 32)
      let count = fread(&line, 1, line.count, file)
      if line[..<count].elementsEqual("bluetoothd\n".utf8) { return process }
    }
    return nil
  }

  /// Returns when all keys that the kernel has reported are stored.
  public func catchUp() async { _ = await storeKeys() }

  /// - Returns: why keys remain in memory; nil if none do.
  private func storeKeys() async -> StoreError? {
    await keyring.catchUp()
    return await withCheckedContinuation { continuation in
      heard.store { continuation.resume(returning: $0) }
    }
  }

  /// Stores the keys that the kernel has reported, and stops.
  public func close() async {
    await catchUp()
    await keyring.close()
  }
}

/// Keys that the kernel has reported and that are not stored yet.
final class HeardKeys: Sendable {
  /// Keys that wait for a store that fails; beyond it the oldest are dropped. Five belong to a bond.
  static let failedLimit = 5 * StoreFile.bondLimit

  private struct State {
    var waiting: [(key: BondKey, adapter: BluetoothAddress)] = []
    /// Those of ``waiting``, at its beginning, whose failure was reported.
    var failed = 0
    /// Why they were not stored.
    var fault: StoreError?
    var count = 0
  }

  private let file: StoreFile
  private let loop: Loop
  private let whenKept: @Sendable (BondKey) -> Void
  private let onFailure: @Sendable (StoreError) -> Void
  private let state = Mutex(State())

  init(
    _ file: StoreFile, _ loop: Loop, whenKept: @escaping @Sendable (BondKey) -> Void,
    onFailure: @escaping @Sendable (StoreError) -> Void
  ) {
    self.file = file
    self.loop = loop
    self.whenKept = whenKept
    self.onFailure = onFailure
  }

  /// The number of keys reported so far.
  var count: Int { state.withLock { $0.count } }

  func add(_ key: BondKey, _ adapter: BluetoothAddress) {
    let isFirst = state.withLock { state in
      state.count += 1
      state.waiting.append((key, adapter))
      return state.waiting.count == state.failed + 1
    }
    // After this turn, in which the other keys of the pairing arrive.
    if isFirst { loop.execute { self.store() } }
  }

  /// Stores the keys reported so far.
  ///
  /// - Parameter completion: called on the loop, when these and all earlier keys are stored, or with the error for
  ///   which they remain here.
  func store(_ completion: @escaping @Sendable (StoreError?) -> Void = { _ in }) {
    let (keys, isNew) = state.withLock { state in
      defer { (state.waiting, state.failed) = ([], 0) }
      return (state.waiting, state.waiting.count > state.failed)
    }
    let (loop, whenKept, onFailure) = (loop, whenKept, onFailure)
    file.submit(
      { (database) throws(StoreError) in
        guard !keys.isEmpty else { return }
        try database.transaction { () throws(StoreError) in
          try StoreFile.keep(keys, in: database)
        }
      },
      { result in
        loop.execute {
          switch result {
          case .success: for (key, _) in keys { whenKept(key) }
          case .failure(let error):
            if error.isLasting { self.keep(keys, error) }
            if isNew { onFailure(error) }
          }
          // Also of keys that were on their way when this began.
          completion(self.state.withLock { $0.failed > 0 ? $0.fault : nil })
        }
      })
  }

  /// Keeps keys whose storing has failed, before later ones.
  private func keep(_ keys: [(key: BondKey, adapter: BluetoothAddress)], _ error: StoreError) {
    state.withLock { state in
      state.fault = error
      let kept = keys.suffix(Self.failedLimit)
      state.waiting.insert(contentsOf: kept, at: 0)
      state.failed += kept.count
    }
  }
}
