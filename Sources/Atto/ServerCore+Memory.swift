import ATT
import EventLoop
import GATT
import Links

/// A server and its ``ClientMemory``.
extension ServerCore {
  func recall(_ link: any Link) -> RememberedClient? {
    guard let memory, let addresses = (link as? any AddressedLink)?.addresses else { return nil }
    return memory.recall(addresses)
  }

  /// Keeps what has changed of a client, if its link shows that it is who it says.
  func remember(_ client: ServerClient, of connection: ConnectionCore) {
    guard let memory, let addresses = connection.addresses else { return }
    if client.security.level == .low, !connection.hasEnded {
      client.security = connection.link.security
    }
    guard client.security.level > .low else { return }
    memory.remember(server.record(of: client), of: addresses)
  }

  /// A client's signed write is about to take effect.
  func accepts(signCounter: UInt32, of id: ClientID) -> Bool {
    guard let memory, let addresses = connection(id)?.addresses else { return true }
    return memory.accepts(signCounter: signCounter, of: addresses)
  }

  /// Clients may have bonded, or bonds may have got new keys.
  func bondsChanged() {
    guard let memory else { return }
    for connection in connections {
      connection.refreshAddresses()
      guard let client = connection.session.client, let addresses = connection.addresses else {
        continue
      }
      if let remembered = memory.recall(addresses), let key = remembered.signingKey {
        client.setSigningKey(key, counter: remembered.signCounter)
      }
      remember(client, of: connection)
    }
  }
}

extension LocalServer {
  /// Tells the server that clients may have bonded: what it should remember of them is kept now,
  /// and their new keys are used. For those who keep the keys that pairing makes.
  public func bondsChanged() { inline { $0.bondsChanged() } }
}
