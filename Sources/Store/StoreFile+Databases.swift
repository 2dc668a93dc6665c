import Atto
import Glibc

/// How a peer's database is found again: by the identity address of an LE peer, by the endpoint
/// of others.
public struct PeerName: Hashable, Sendable {
  let text: String

  /// An LE peer; the address should be an identity address, see ``isStable(_:)``.
  public init(_ peer: BluetoothAddress) { text = "le:\(peer)" }

  /// Any other, as its endpoint is written.
  public init(endpoint: String) { text = endpoint }

  /// Whether a peer will have this address tomorrow: a public or static one. Vol 6, Part B,
  /// 1.3.2.
  public static func isStable(_ address: BluetoothAddress) -> Bool {
    address.kind == .public || address.value >> 46 == 0b11
  }
}

/// Databases of peers: with the Database Hash a client knows in one round trip that it still
/// knows everything. Vol 3, Part G, 2.5.2.1.
extension StoreFile {
  /// What was discovered at a peer; nil if nothing is kept, or it cannot be read any more.
  ///
  /// - Throws: ``StoreError``: most often `busy` while another process holds the file for longer
  ///   than 2 s, `full`, `system`, `corrupt`.
  public func database(of peer: PeerName) throws(StoreError) -> RemoteDatabase? {
    try use { (database) throws(StoreError) in
      var content: [UInt8]?
      try database.run("SELECT content FROM peer_database WHERE peer = ?", .text(peer.text)) {
        (row) throws(StoreError) in content = row.octets(0)
      }
      return content.flatMap { RemoteDatabase(stored: $0) }
    }
  }

  /// Keeps what was discovered at a peer, in place of what was kept before. One without a hash
  /// could never be trusted again, and one beyond ``databaseLength`` is too long: it is not kept,
  /// and what was before is removed.
  ///
  /// - Returns: whether it is kept.
  /// - Throws: ``StoreError``: most often `busy` while another process holds the file for longer
  ///   than 2 s, `full`, `system`, `corrupt`.
  @discardableResult
  public func keep(
    _ remote: RemoteDatabase, of peer: PeerName
  ) throws(StoreError) -> Bool {
    try change { (database) throws(StoreError) in
      let content = remote.stored
      guard remote.databaseHash != nil, content.count <= Self.databaseLength else {
        try database.run("DELETE FROM peer_database WHERE peer = ?", .text(peer.text))
        return false
      }
      try database.run(
        "INSERT OR REPLACE INTO peer_database(peer, used, content) VALUES(?, ?, ?)",
        .text(peer.text), .integer(Int64(time(nil))), .octets(content))
      try database.run(
        """
        DELETE FROM peer_database WHERE peer IN
          (SELECT peer FROM peer_database ORDER BY used DESC, peer = ? DESC
            LIMIT -1 OFFSET \(Self.databaseLimit))
        """, .text(peer.text))
      return true
    }
  }

  /// Who has a database here.
  ///
  /// - Throws: ``StoreError``: most often `busy` while another process holds the file for longer
  ///   than 2 s, `full`, `system`, `corrupt`.
  public func hasDatabase(of peer: PeerName) throws(StoreError) -> Bool {
    try database(of: peer) != nil
  }
}
