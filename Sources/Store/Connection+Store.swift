import Atto

extension Connection {
  /// Discovers everything, or finds with one request that nothing has changed since it was kept.
  ///
  /// - Parameter peer: nil: named by the address of the link. Then nothing is kept of a peer
  ///   whose address will be another one tomorrow.
  /// - Returns: the database, and whether it is the kept one.
  /// - Throws: `AttoError` of the discovery, or ``StoreError``.
  public func discover(
    keptIn store: StoreFile, as peer: PeerName? = nil
  ) async throws -> (database: RemoteDatabase, isKept: Bool) {
    var name = peer
    if name == nil, let address = try await addresses?.peer, PeerName.isStable(address) {
      name = PeerName(address)
    }
    let kept = try name.flatMap { try store.database(of: $0) }
    let database = try await discover(cached: kept, readsDatabaseHash: true)
    // The cached one comes back as it was given; one that is equal was found to be so anew.
    if let kept, kept == database { return (database, true) }
    if let name { try store.keep(database, of: name) }
    return (database, false)
  }

  /// Writes a value without a response, signed with the key of the bond. Its counter is kept
  /// before it is used. Vol 3, Part G, 4.9.2.
  ///
  /// - Throws: `AttoError`, or ``StoreError``: `noSigningKey` for a peer that is not bonded with
  ///   one, `noAddress` on other links than those of radios, `countersExhausted`.
  public func writeSigned(
    _ handle: AttributeHandle, _ value: [UInt8], keptIn store: StoreFile
  ) async throws {
    guard let addresses = try await addresses else {
      throw StoreError.noAddress(peer: peerName)
    }
    let signing = try store.reserveSignCounters(adapter: addresses.own, peer: addresses.peer)
    try await writeSigned(
      handle, value, counter: signing.counters.lowerBound, key: signing.key)
  }
}
