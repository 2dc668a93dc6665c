import Atto
import AttoKernelRadio

/// Sign counters. They only increase: at either end, a counter is stored as used before it is used. A
/// counter that was reserved and never used, because the process died, leaves a gap, which verifiers
/// accept. Vol 3, Part H, 2.4.5.
extension StoreFile {
  /// Counters reserved for one caller, and the key to sign with.
  public struct SigningReservation: Equatable, Sendable {
    /// 16 octets, most significant first.
    public var key: [UInt8]
    /// The counters, each to be used once.
    public var counters: Range<UInt32>
  }

  /// Reserves counters for signed writes to a peer.
  ///
  /// - Parameter count: more than one saves a transaction for each of the others.
  /// - Throws: ``StoreError/noSigningKey(_:)``, ``StoreError/countersExhausted(_:)``, or as other
  ///   functions do.
  public func reserveSignCounters(
    adapter: BluetoothAddress, peer: BluetoothAddress, count: UInt32 = 1
  ) async throws(StoreError) -> SigningReservation {
    try await change { (database) throws(StoreError) in
      guard let (id, state) = try Self.signing(adapter, peer, isOurs: true, in: database) else {
        throw .noSigningKey(peer)
      }
      // The highest counter is never used, because no verifier could accept another after it.
      guard count > 0, UInt32.max - state.counter >= count else {
        throw .countersExhausted(peer)
      }
      let end = state.counter + count
      try Self.setCounter(end, of: id, isOurs: true, in: database)
      return SigningReservation(
        key: state.key.mostSignificantFirst, counters: state.counter..<end)
    }
  }

  /// Records that a signed write of a peer is accepted, before it takes effect.
  ///
  /// - Parameter counter: the least counter that is accepted from now on.
  /// - Returns: false if the stored counter is no less, or if the peer has no key; then the write
  ///   must not take effect.
  /// - Throws: ``StoreError``: most often `busy` while another process holds the file for longer
  ///   than 2 s, `full`, `system`, `corrupt`.
  public func acceptSignCounter(
    _ counter: UInt32, adapter: BluetoothAddress, peer: BluetoothAddress
  ) async throws(StoreError) -> Bool {
    try await change { (database) throws(StoreError) in
      try Self.accept(counter, adapter: adapter, peer: peer, in: database)
    }
  }

  static func accept(
    _ counter: UInt32, adapter: BluetoothAddress, peer: BluetoothAddress,
    in database: borrowing SQLiteDatabase
  ) throws(StoreError) -> Bool {
    guard let (id, state) = try signing(adapter, peer, isOurs: false, in: database),
      counter > state.counter
    else { return false }
    try setCounter(counter, of: id, isOurs: false, in: database)
    return true
  }

  private static func setCounter(
    _ counter: UInt32, of bond: SQLValue, isOurs: Bool, in database: borrowing SQLiteDatabase
  ) throws(StoreError) {
    try database.run(
      "UPDATE signature_key SET counter = ? WHERE bond = ? AND is_ours = ?",
      .integer(Int64(counter)), bond, .integer(isOurs ? 1 : 0))
    try SealedTable.bonds.seal(bond, in: database)
  }

  private static func signing(
    _ adapter: BluetoothAddress, _ peer: BluetoothAddress, isOurs: Bool,
    in database: borrowing SQLiteDatabase
  ) throws(StoreError) -> (SQLValue, Bond.SigningState)? {
    guard let id = try find(adapter, peer, in: database) else { return nil }
    let bond = try Bond.read(id, in: database)
    return (isOurs ? bond.ownSignature : bond.peerSignature).map { (id, $0) }
  }
}
