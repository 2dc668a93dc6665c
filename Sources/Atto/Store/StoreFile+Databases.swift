import Atto
import Glibc

/// The name under which a peer's database is stored: the identity address of an LE peer, the endpoint
/// of any other.
public struct PeerName: Hashable, Sendable {
  let text: String

  /// Names an LE peer. The address should be an identity address, see ``isStable(_:)``.
  public init(_ peer: BluetoothAddress) { text = "le:\(peer)" }

  /// Names another peer by its endpoint.
  public init(endpoint: String) { text = endpoint }

  /// Whether an address is permanent: a public or a static one. Vol 6, Part B, 1.3.2.
  public static func isStable(_ address: BluetoothAddress) -> Bool {
    address.isStable
  }
}

/// Databases of peers. By the Database Hash a client finds with one request that a stored database is
/// still valid. Vol 3, Part G, 2.5.2.1.
extension StoreFile {
  /// Returns the stored database of a peer; nil if there is none, or it is damaged.
  ///
  /// - Throws: ``StoreError``: most often `busy` while another process holds the file for longer
  ///   than 2 s, `full`, `system`, `corrupt`.
  public func database(of peer: PeerName) async throws(StoreError) -> RemoteDatabase? {
    try await use { (database) throws(StoreError) in
      try database.reading { () throws(StoreError) in
        guard try SealedTable.databases.isSound(.text(peer.text), in: database) else { return nil }
        var content: [UInt8]?
        try database.run("SELECT content FROM peer_database WHERE peer = ?", .text(peer.text)) {
          (row) throws(StoreError) in content = row.octets(0)
        }
        return content.flatMap { RemoteDatabase(stored: $0) }
      }
    }
  }

  /// Stores the database of a peer in place of the previous one. A database without a hash, which
  /// could never be validated, or longer than ``databaseLength`` is not stored; then the previous one
  /// is removed.
  ///
  /// - Returns: whether it was stored.
  /// - Throws: ``StoreError``: most often `busy` while another process holds the file for longer
  ///   than 2 s, `full`, `system`, `corrupt`.
  @discardableResult
  public func keep(
    _ remote: RemoteDatabase, of peer: PeerName
  ) async throws(StoreError) -> Bool {
    try await change { (database) throws(StoreError) in
      let content = remote.stored
      guard remote.databaseHash != nil, content.count <= Self.databaseLength else {
        try database.run("DELETE FROM peer_database WHERE peer = ?", .text(peer.text))
        return false
      }
      try database.run(
        "INSERT OR REPLACE INTO peer_database(peer, used, content) VALUES(?, ?, ?)",
        .text(peer.text), .integer(Int64(time(nil))), .octets(content))
      try SealedTable.databases.seal(.text(peer.text), in: database)
      try database.run(
        """
        DELETE FROM peer_database WHERE peer IN
          (SELECT peer FROM peer_database ORDER BY used DESC, peer = ? DESC
            LIMIT -1 OFFSET \(Self.databaseLimit))
        """, .text(peer.text))
      return true
    }
  }

  /// Returns whether a valid database of a peer is stored.
  ///
  /// - Throws: ``StoreError``: most often `busy` while another process holds the file for longer
  ///   than 2 s, `full`, `system`, `corrupt`.
  public func hasDatabase(of peer: PeerName) async throws(StoreError) -> Bool {
    try await database(of: peer) != nil
  }
}
