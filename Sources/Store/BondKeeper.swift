import Atto
import Glibc
import Synchronization

/// Has the kernel and a store know the same bonds, for as long as it lives: gives the kernel what
/// is kept, and keeps what pairing makes from then on, by whichever program.
///
/// # Theory
/// The kernel takes keys only all at once, in place of those that it has. So what is loaded is
/// everything the store has for the adapter. A key that somebody's pairing makes meanwhile, after
/// the store was read and before the kernel has done, is heard of before the kernel's answer; then
/// it is read and loaded once more.
///
/// The kernel tells the keys of a pairing one after the other and without a pause. Those that are
/// heard of in one turn of the loop are kept in one transaction: so a process that is killed leaves
/// all of them or none.
///
/// bluetoothd keeps keys of its own in the same kernel, and would lose them there until it is
/// started again: while it runs nothing is loaded, and ``notices`` say so.
public final class BondKeeper: Sendable {
  /// What a person should know: why keys were not loaded, for instance.
  public let notices: [String]
  private let keyring: KernelKeyring
  private let heard: HeardKeys

  /// Loads an adapter's bonds and begins to keep new ones.
  ///
  /// - Parameters:
  ///   - source: the adapter; `.any`: the one that is used by default, or, with `ofAll`, all.
  ///   - whenKept: called on the loop after a key was kept.
  ///   - onFailure: called on the loop when one could not be.
  /// - Throws: what ``KernelKeyring`` throws but for the lack of permission, which is a notice.
  public static func begin(
    _ store: StoreFile, source: L2CAPSource = .any, ofAll: Bool = false, loop: Loop = .shared,
    whenKept: @escaping @Sendable (BondKey) -> Void = { _ in },
    onFailure: @escaping @Sendable (StoreError) -> Void = { _ in }
  ) async throws(RadioError) -> BondKeeper {
    let keyring = try await KernelKeyring.open(source, ofAll: ofAll, loop: loop)
    return try await begin(store, keyring, whenKept: whenKept, onFailure: onFailure)
  }

  /// The same with keys that were opened before.
  public static func begin(
    _ store: StoreFile, _ keyring: KernelKeyring,
    whenKept: @escaping @Sendable (BondKey) -> Void = { _ in },
    onFailure: @escaping @Sendable (StoreError) -> Void = { _ in }
  ) async throws(RadioError) -> BondKeeper {
    let heard = HeardKeys(store, keyring.loop, whenKept: whenKept, onFailure: onFailure)
    await keyring.observe { key, adapter in heard.take(key, adapter) }
    var notices: [String] = []
    if let process = Self.otherKeeper() {
      notices.append(
        "bluetoothd (process \(process)) keeps keys of its own in the kernel; so that it does not"
          + " lose them, those of \(store.path) are not loaded. To use them, end it first"
          + " (systemctl stop bluetooth)")
    } else {
      for adapter in await keyring.adapters {
        if let notice = try await load(store, keyring, adapter, heard) {
          notices.append(notice)
          break
        }
      }
    }
    return BondKeeper(keyring, heard, notices)
  }

  private init(_ keyring: KernelKeyring, _ heard: HeardKeys, _ notices: [String]) {
    self.keyring = keyring
    self.heard = heard
    self.notices = notices
  }

  /// - Returns: what a person should know.
  private static func load(
    _ store: StoreFile, _ keyring: KernelKeyring, _ adapter: AdapterInformation,
    _ heard: HeardKeys
  ) async throws(RadioError) -> String? {
    // Each round but the first follows a pairing, which takes longer than a round.
    for _ in 0..<4 {
      let before = heard.count
      let bonds: [Bond]
      do throws(StoreError) {
        bonds = try store.bonds(of: adapter.address)
      } catch {
        return "the bonds are not loaded: \(error)"
      }
      do throws(RadioError) {
        // One address that the kernel would not take would keep it from taking any.
        let loadable = bonds.filter { PeerName.isStable($0.peer) }
        try await keyring.load(
          loadable.flatMap(\.longTermKeys), loadable.compactMap(\.identityKey),
          to: adapter.index)
      } catch .management(_, .permissionDenied, _) {
        guard !bonds.isEmpty else { return nil }
        return "the bonds of \(store.path) are not given to the kernel: that wants CAP_NET_ADMIN"
          + " (work as root, or: sudo setcap cap_net_admin+eip on the program)"
      }
      if heard.count == before { return nil }
    }
    return nil
  }

  /// The process of bluetoothd, as far as this process can see.
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

  /// Returns when all keys are kept that the kernel has told of before this.
  public func catchUp() async {
    await keyring.catchUp()
    heard.keep()
  }

  /// Keeps what the kernel has told of before this, and nothing more.
  public func close() async {
    await catchUp()
    await keyring.close()
  }
}

/// Keys on their way from the kernel to the store.
private final class HeardKeys: Sendable {
  private struct State {
    var waiting: [(key: BondKey, adapter: BluetoothAddress)] = []
    var count = 0
  }

  private let store: StoreFile
  private let loop: Loop
  private let whenKept: @Sendable (BondKey) -> Void
  private let onFailure: @Sendable (StoreError) -> Void
  private let state = Mutex(State())

  init(
    _ store: StoreFile, _ loop: Loop, whenKept: @escaping @Sendable (BondKey) -> Void,
    onFailure: @escaping @Sendable (StoreError) -> Void
  ) {
    self.store = store
    self.loop = loop
    self.whenKept = whenKept
    self.onFailure = onFailure
  }

  /// How many were heard of so far.
  var count: Int { state.withLock { $0.count } }

  func take(_ key: BondKey, _ adapter: BluetoothAddress) {
    let isFirst = state.withLock { state in
      state.count += 1
      state.waiting.append((key, adapter))
      return state.waiting.count == 1
    }
    // After this turn, in which the others of the pairing come.
    if isFirst { loop.execute { self.keep() } }
  }

  func keep() {
    let keys = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    guard !keys.isEmpty else { return }
    do throws(StoreError) {
      try store.keep(keys)
      for (key, _) in keys { whenKept(key) }
    } catch {
      onFailure(error)
    }
  }
}
