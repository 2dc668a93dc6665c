internal import AttoStore
import Foundation

/// State that survives the process: records in the file `corebluetooth.sqlite`, in the folder that
/// `$ATTO_STATE` names, else in `$XDG_STATE_HOME/atto`, else in `~/.local/state/atto`.
///
/// A queue of its own reads and writes in the order of the calls, so that no loop waits for the disk.
/// A record that cannot be read counts as missing, and a change that cannot be written is dropped.
/// Both log a warning.
final class SavedState: Sendable {
  enum Kind: String, Sendable {
    case central, peripheral, peer
    /// For tests of the limit.
    case limit
  }

  struct Key: Hashable, Sendable {
    var kind: Kind
    var name: String
  }

  static let shared = SavedState()
  /// Records of one kind. Beyond the limit, the one that was saved longest ago is removed.
  static let recordLimit = 1000

  private let queue = DispatchQueue(label: "CoreBluetooth state")
  /// Changes that are not written yet, in order; nil removes the record.
  private let pending = Locked<[(key: Key, data: @Sendable () -> Data?)]>([])
  /// Opened with the first access. Only the queue uses it.
  private let store = Locked<RecordFile?>(nil)
  private let lastWarning = Locked("")

  static var folder: URL {
    let environment = ProcessInfo.processInfo.environment
    if let path = environment["ATTO_STATE"], !path.isEmpty {
      return URL(fileURLWithPath: path, isDirectory: true)
    }
    if let path = environment["XDG_STATE_HOME"], path.hasPrefix("/") {
      return URL(fileURLWithPath: path, isDirectory: true).appendingPathComponent("atto")
    }
    return FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent(
      ".local/state/atto")
  }

  /// Reads a record, after the changes that were requested before. Blocks; not for the loop.
  func read(_ key: Key) -> Data? { queue.sync { readNow(key) } }

  /// Reads a record and calls back on the loop.
  func read(_ key: Key, then body: @escaping @RadioLoop @Sendable (Data?) -> Void) {
    queue.async { [self] in
      let data = readNow(key)
      RadioLoop.later { body(data) }
    }
  }

  /// Replaces a record; nil removes it.
  func write(_ data: Data?, to key: Key) { write(to: key) { data } }

  /// Replaces a record.
  ///
  /// - Parameter data: called on the queue, unless another change replaces this one before.
  func write(to key: Key, _ data: @escaping @Sendable () -> Data?) {
    let isFirst = pending.withLock { pending in
      let isFirst = pending.isEmpty
      pending.removeAll { $0.key == key }
      pending.append((key, data))
      return isFirst
    }
    if isFirst { queue.async { [self] in writePending() } }
  }

  /// Waits until the changes that were requested before are on the disk, or were dropped.
  func written() async {
    await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
  }

  private func readNow(_ key: Key) -> Data? {
    reporting("read") { (store) throws(StoreError) in
      try store.record(key.kind.rawValue, key.name).map { Data($0) }
    } ?? nil
  }

  private func writePending() {
    let changes = pending.withLock { pending in
      defer { pending = [] }
      return pending
    }
    _ = reporting("save") { (store) throws(StoreError) in
      try store.save(
        changes.map {
          RecordFile.Change($0.key.kind.rawValue, $0.key.name, $0.data().map { Array($0) })
        },
        limit: Self.recordLimit)
    }
  }

  /// Runs `body` on the store; nil, with a warning, if that fails. The same warning comes once.
  private func reporting<Value>(
    _ operation: String, _ body: (RecordFile) throws(StoreError) -> Value
  ) -> Value? {
    let problem: String
    var hint = "set ATTO_STATE to a folder that this user, and nobody else, may write to"
    do {
      return try body(try opened())
    } catch let error as StoreError {
      problem = "\(error)"
      switch error {
      case .libraryMissing: hint = "sudo apt-get install libsqlite3-0"
      case .damagedRecord: hint = "none is needed: the next change replaces it"
      default: break
      }
    } catch {
      problem = error.localizedDescription
    }
    let text = "cannot \(operation) state: \(problem)\nhint: \(hint)"
    if lastWarning.value != text { Warning.log(text) }
    lastWarning.value = text
    return nil
  }

  private func opened() throws -> RecordFile {
    if let store = store.value { return store }
    let folder = Self.folder
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true,
      attributes: [.posixPermissions: NSNumber(value: 0o700)])
    let opened = try RecordFile(path: folder.appendingPathComponent("corebluetooth.sqlite").path)
    store.value = opened
    return opened
  }
}

/// The saved state of one manager, under its restore identifier.
///
/// It is removed when the app releases the manager, and survives every other end of the process.
/// Limit: ``sizeLimit``. A record that is larger, damaged, or of a later version of this module is
/// ignored with a warning, and replaced with the next change.
struct RestorationRecord: Sendable {
  static let sizeLimit = 4_000_000
  /// Incremented when the meaning of the content changes.
  static let version = 1

  private struct Head: Codable {
    var version: Int
  }

  private struct Versioned<Content: Codable>: Codable {
    var version = RestorationRecord.version
    var content: Content
  }

  let key: SavedState.Key

  init(_ kind: SavedState.Kind, _ identifier: String) {
    key = SavedState.Key(kind: kind, name: identifier)
  }

  /// Calls back on the loop; with nil if there is nothing to restore.
  func load<Content: Codable & Sendable>(
    _ type: Content.Type, then body: @escaping @RadioLoop @Sendable (Content?) -> Void
  ) {
    SavedState.shared.read(key) { body($0.flatMap { decode(type, from: $0) }) }
  }

  func decode<Content: Codable>(_ type: Content.Type, from data: Data) -> Content? {
    guard data.count <= Self.sizeLimit else {
      return refuse("\(data.count) octets (the limit is \(Self.sizeLimit))")
    }
    do {
      let version = try JSONDecoder().decode(Head.self, from: data).version
      guard version <= Self.version else {
        return refuse("version \(version), this program supports up to \(Self.version)")
      }
      return try JSONDecoder().decode(Versioned<Content>.self, from: data).content
    } catch {
      return refuse("the record is damaged")
    }
  }

  private func refuse<Content>(_ why: String) -> Content? {
    Warning.log("cannot restore \(key.kind) \"\(key.name)\": \(why) (ignored)")
    return nil
  }

  /// - Parameter content: called on the queue of ``SavedState``.
  func save<Content: Codable & Sendable>(_ content: @escaping @Sendable () -> Content) {
    SavedState.shared.write(to: key) { try? JSONEncoder().encode(Versioned(content: content())) }
  }

  func remove() { SavedState.shared.write(nil, to: key) }
}
