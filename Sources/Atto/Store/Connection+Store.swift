import Atto

extension Connection {
  /// Discovers all services, or finds with one request that the stored database is still valid.
  ///
  /// - Parameter peer: nil names the peer by the address of the link. Then nothing is stored for a
  ///   peer whose address is not permanent.
  /// - Returns: the database, whether it is the stored one, and whether it is stored now.
  /// - Throws: `AttoError` of the discovery, or ``AttoStore/StoreError``.
  public func discover(
    keptIn store: StoreFile, as peer: PeerName? = nil
  ) async throws -> (database: RemoteDatabase, isKept: Bool, isNowKept: Bool) {
    var name = peer
    if name == nil, let address = try await addresses?.peer, PeerName.isStable(address) {
      name = PeerName(address)
    }
    let kept: RemoteDatabase? = if let name { try await store.database(of: name) } else { nil }
    let database = try await discover(cached: kept, readsDatabaseHash: true)
    if let kept, kept == database { return (database, true, true) }
    let isNowKept = if let name { try await store.keep(database, of: name) } else { false }
    return (database, false, isNowKept)
  }

  /// Writes a value without a response, signed with the key of the bond. The counter is stored before
  /// it is used. Vol 3, Part G, 4.9.2.
  ///
  /// - Throws: `AttoError`, or ``AttoStore/StoreError``: `noSigningKey` if the peer has no key of this end,
  ///   `noAddress` for links that are not between radios, `countersExhausted`.
  public func writeSigned(
    _ value: [UInt8], to handle: AttributeHandle, keptIn store: StoreFile
  ) async throws {
    guard let addresses = try await addresses else {
      throw StoreError.noAddress(peer: peerName)
    }
    let signing = try await store.reserveSignCounters(adapter: addresses.own, peer: addresses.peer)
    try await writeSigned(
      value, to: handle, counter: signing.counters.lowerBound, key: signing.key)
  }
}
