import Atto
import AttoKernelRadio

/// A peer that an adapter is bonded with, and everything stored for it.
public struct Bond: Equatable, Sendable {
  /// The identity address of the adapter.
  public var adapter: BluetoothAddress
  /// The identity address of the peer.
  public var peer: BluetoothAddress
  /// When the first of its keys was stored, in seconds since 1970.
  public var since: Int64
  /// One key, or one for each role if they paired with LE legacy pairing.
  public var longTermKeys: [LongTermKey] = []
  /// Resolves the peer's private addresses; nil if it has distributed none.
  public var identityKey: IdentityResolvingKey?
  /// The key that this end signs with, and the next counter.
  public var ownSignature: SigningState?
  /// The key that the peer signs with, and the least counter that is accepted.
  public var peerSignature: SigningState?
  /// What the local server remembers of it; nil if it has never been a client.
  public var client: ClientRecord?

  /// A signature key with its counter.
  public struct SigningState: Equatable, Sendable {
    /// The key.
    public var key: SignatureKey
    /// The next counter.
    public var counter: UInt32

    /// Creates a state.
    public init(key: SignatureKey, counter: UInt32) {
      self.key = key
      self.counter = counter
    }
  }
}

extension SignatureKey {
  /// Whether this end signs with it. The kernel numbers local keys 0 and 2, the peer's 1 and 3.
  public var isOurs: Bool { kind & 1 == 0 }

  /// The key in the order of ``Atto/Connection/writeSigned(_:to:counter:key:)``.
  public var mostSignificantFirst: [UInt8] { value.reversed() }
}

extension LongTermKey {
  /// Whether LE Secure Connections made it, for both roles.
  var isSecureConnections: Bool { kind >= 2 }
}

extension BondKey {
  /// The identity address of the peer.
  public var peer: BluetoothAddress {
    switch self {
    case .longTerm(let key): key.peer
    case .identity(let key): key.peer
    case .signature(let key): key.peer
    }
  }
}

extension Bond {
  /// Reads the bond of an adapter with a peer; nil if there is none.
  ///
  /// - Throws: also `damagedRecord`.
  static func read(
    _ adapter: BluetoothAddress, _ peer: BluetoothAddress, in database: borrowing SQLiteDatabase
  ) throws(StoreError) -> Bond? {
    try database.reading { () throws(StoreError) in
      guard let id = try StoreFile.find(adapter, peer, in: database) else { return nil }
      return try read(id, in: database)
    }
  }

  /// Reads the bonds of an adapter and a peer, or of all where they are nil, in the order of the
  /// adapters and then of age. Damaged bonds are left out.
  static func read(
    adapter: BluetoothAddress? = nil, peer: BluetoothAddress? = nil,
    in database: borrowing SQLiteDatabase
  ) throws(StoreError) -> [Bond] {
    let chosen = [("adapter", adapter), ("peer", peer)].filter { $0.1 != nil }
    let condition =
      chosen.isEmpty ? "" : "WHERE " + chosen.map { "\($0.0) = ?" }.joined(separator: " AND ")
    return try database.reading { () throws(StoreError) in
      var ids: [SQLValue] = []
      try database.run(
        "SELECT id FROM bond \(condition) ORDER BY adapter, id", chosen.map { .text("\($0.1!)") }
      ) { (row) throws(StoreError) in ids.append(.integer(row.integer(0))) }
      var found: [Bond] = []
      for id in ids where try SealedTable.bonds.isSound(id, in: database) {
        found.append(try read(id, in: database))
      }
      return found
    }
  }

  /// Reads a sound bond by its row.
  static func read(
    _ id: SQLValue, in database: borrowing SQLiteDatabase
  ) throws(StoreError) -> Bond {
    var found: Bond?
    try database.run("SELECT adapter, peer, since FROM bond WHERE id = ?", id) {
      (row) throws(StoreError) in
      guard let own = BluetoothAddress(row.text(0)), let peer = BluetoothAddress(row.text(1))
      else { return }
      found = Bond(adapter: own, peer: peer, since: row.integer(2))
    }
    guard var found else { throw .corrupt(path: database.path, "invalid address") }
    try found.readContents(of: id, in: database)
    return found
  }

  private mutating func readContents(
    of id: SQLValue, in database: borrowing SQLiteDatabase
  ) throws(StoreError) {
    let (peer, path) = (peer, database.path)
    func key(_ row: borrowing SQLiteRow, _ column: Int32) throws(StoreError) -> [UInt8] {
      let octets = row.octets(column)
      guard octets.count == 16 else { throw .corrupt(path: path, "a key is not 16 octets long") }
      return octets
    }
    try database.run(
      """
      SELECT kind, central, size, diversifier, random, value FROM long_term_key WHERE bond = ?
      """, id
    ) { (row) throws(StoreError) in
      longTermKeys.append(
        LongTermKey(
          peer: peer, kind: UInt8(truncatingIfNeeded: row.integer(0)),
          isCentral: row.integer(1) != 0, keySize: UInt8(truncatingIfNeeded: row.integer(2)),
          diversifier: UInt16(truncatingIfNeeded: row.integer(3)),
          random: UInt64(bitPattern: row.integer(4)), value: try key(row, 5)))
    }
    try database.run("SELECT value FROM identity_key WHERE bond = ?", id) {
      (row) throws(StoreError) in
      identityKey = IdentityResolvingKey(peer: peer, value: try key(row, 0))
    }
    try database.run("SELECT kind, value, counter FROM signature_key WHERE bond = ?", id) {
      (row) throws(StoreError) in
      let state = SigningState(
        key: SignatureKey(
          peer: peer, kind: UInt8(truncatingIfNeeded: row.integer(0)), value: try key(row, 1)),
        counter: UInt32(clamping: row.integer(2)))
      if state.key.isOurs { ownSignature = state } else { peerSignature = state }
    }
    client = try ClientRecord.read(bond: id, in: database)
  }
}
