import AttoATT
import AttoGATT
import AttoLinks

/// The peer behind a client of a server.
public struct ServedPeer: Equatable, Sendable {
  /// Its name in messages and events: an address, the name of a simulated radio, or a process.
  public let name: String
  /// The security of its link now.
  public let security: LinkSecurity
  /// Whether the server's ``ClientMemory`` knows a bond with this address; false without a memory. The
  /// peer has proved that it is the bonded device only if ``security`` is above `low`.
  public let isBonded: Bool
  /// Its address; nil for links without radios. On `le:` endpoints it is the identity address, where
  /// that is known.
  public let address: BluetoothAddress?
  /// The process at the other end of a Unix socket or of a simulated radio; nil for others.
  public let process: PeerProcess?
}

extension LocalServer {
  /// Returns the peer behind a client, for handlers that decide by it; nil if the client has
  /// disconnected.
  ///
  /// - Throws: `cancelled`, and nothing else.
  public func peer(of client: ClientID) async throws(AttoError) -> ServedPeer? {
    try await onLoop { $0.peer(of: client) }
  }

  /// As ``peer(of:)``, for inline handlers and observers. Traps off the loop's thread.
  public func peerNow(of client: ClientID) -> ServedPeer? {
    core.value(in: #function).peer(of: client)
  }
}

extension ServerCore {
  fileprivate func peer(of client: ClientID) -> ServedPeer? {
    guard let connection = connection(client) else { return nil }
    connection.refreshAddresses()
    return ServedPeer(
      name: connection.peerName, security: connection.security,
      isBonded: connection.recorder?.isBonded ?? false,
      address: (connection.addresses ?? connection.link.radioAddresses)?.peer,
      process: connection.link.peerProcess)
  }
}

extension LocalServer {
  /// Tells the server that clients may have bonded: what it knows of them is stored now, and their
  /// new keys are used. Call it when keys that pairing made have been stored.
  public func bondsChanged() { inline { $0.bondsChanged() } }
}
