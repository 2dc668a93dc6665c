import Atto

/// A store as the memory of a server: what bonded clients have configured, and the counters of
/// their signed writes.
///
/// ```swift
/// let store = try StoreFile()
/// let server = LocalServer(database, memory: StoreMemory(store))
/// let keeper = try await BondKeeper.begin(store, whenKept: { _ in server.bondsChanged() })
/// ```
public struct StoreMemory: ClientMemory {
  private let store: StoreFile
  private let onFailure: @Sendable (StoreError) -> Void

  /// - Parameter onFailure: called on the loop when something could not be kept or read. The
  ///   server goes on: what clients configure then holds until they disconnect.
  public init(
    _ store: StoreFile, onFailure: @escaping @Sendable (StoreError) -> Void = { _ in }
  ) {
    self.store = store
    self.onFailure = onFailure
  }

  public func recall(_ addresses: LinkAddresses) -> RememberedClient? {
    do throws(StoreError) {
      guard let bond = try store.bond(adapter: addresses.own, peer: addresses.peer) else {
        return nil
      }
      return RememberedClient(
        record: bond.client, signingKey: bond.peerSignature?.key.mostSignificantFirst,
        signCounter: bond.peerSignature?.counter ?? 0)
    } catch {
      onFailure(error)
      return nil
    }
  }

  public func remember(_ record: ClientRecord, of addresses: LinkAddresses) {
    do throws(StoreError) {
      try store.keep(record, adapter: addresses.own, peer: addresses.peer)
    } catch {
      onFailure(error)
    }
  }

  public func accepts(signCounter: UInt32, of addresses: LinkAddresses) -> Bool {
    do throws(StoreError) {
      return try store.acceptSignCounter(
        signCounter, adapter: addresses.own, peer: addresses.peer)
    } catch {
      onFailure(error)
      return false
    }
  }
}
