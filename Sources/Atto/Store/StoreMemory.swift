import Atto
import AttoLinks

/// A store as the memory of a server: what bonded clients have configured, and the counters of
/// their signed writes.
///
/// ```swift
/// let store = try await StoreFile()
/// let server = LocalServer(database, memory: StoreMemory(store))
/// let keeper = try await BondKeeper.begin(store, whenKept: { _ in server.bondsChanged() })
/// ```
public struct StoreMemory: ClientMemory {
  private let store: StoreFile
  private let onFailure: @Sendable (StoreError) -> Void

  /// Creates a memory.
  ///
  /// - Parameter onFailure: called on the store's thread when reading or writing failed. The server
  ///   continues; clients' configurations then last until they disconnect.
  public init(
    _ store: StoreFile, onFailure: @escaping @Sendable (StoreError) -> Void = { _ in }
  ) {
    self.store = store
    self.onFailure = onFailure
  }

  /// Does work on the store's thread. The completion gets `fallback` if it fails.
  private func submit<Value: Sendable>(
    fallback: Value, _ completion: @escaping @Sendable (Value) -> Void,
    _ work: @escaping @Sendable (borrowing SQLiteDatabase) throws(StoreError) -> Value
  ) {
    let onFailure = onFailure
    store.submit(work) { result in
      switch result {
      case .success(let value): completion(value)
      case .failure(let error):
        onFailure(error)
        completion(fallback)
      }
    }
  }

  public func recall(
    _ addresses: LinkAddresses, _ completion: @escaping @Sendable (RememberedClient?) -> Void
  ) {
    submit(fallback: nil, completion) { (database) throws(StoreError) in
      try Self.recall(addresses, in: database)
    }
  }

  public func remember(
    _ record: ClientRecord, of addresses: LinkAddresses,
    _ completion: @escaping @Sendable () -> Void
  ) {
    submit(fallback: (), completion) { (database) throws(StoreError) in
      try Self.remember(record, of: addresses, in: database)
    }
  }

  public func accept(
    signCounter: UInt32, of addresses: LinkAddresses,
    _ completion: @escaping @Sendable (Bool) -> Void
  ) {
    submit(fallback: false, completion) { (database) throws(StoreError) in
      try Self.accept(signCounter: signCounter, of: addresses, in: database)
    }
  }

  private static func recall(
    _ addresses: LinkAddresses, in database: borrowing SQLiteDatabase
  ) throws(StoreError) -> RememberedClient? {
    try Bond.read(addresses.own, addresses.peer, in: database).map { bond in
      RememberedClient(
        record: bond.client, signingKey: bond.peerSignature?.key.mostSignificantFirst,
        signCounter: bond.peerSignature?.counter ?? 0)
    }
  }

  private static func remember(
    _ record: ClientRecord, of addresses: LinkAddresses, in database: borrowing SQLiteDatabase
  ) throws(StoreError) {
    try database.transaction { () throws(StoreError) in
      _ = try record.write(adapter: addresses.own, peer: addresses.peer, in: database)
    }
  }

  private static func accept(
    signCounter: UInt32, of addresses: LinkAddresses, in database: borrowing SQLiteDatabase
  ) throws(StoreError) -> Bool {
    try database.transaction { () throws(StoreError) in
      try StoreFile.accept(signCounter, adapter: addresses.own, peer: addresses.peer, in: database)
    }
  }
}
