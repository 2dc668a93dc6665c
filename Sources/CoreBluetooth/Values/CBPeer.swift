import Foundation

/// Another device: a peripheral or a central.
open class CBPeer: NSObject, NSCopying {
  private let id: UUID

  init(identifier: UUID) {
    id = identifier
    super.init()
  }

  /// The same for one peer and one adapter in every run; see `PeerIdentifier`.
  open var identifier: UUID { id }

  open func copy(with zone: NSZone? = nil) -> Any { self }

  /// The only key of key-value coding that Linux has for a peer.
  open func value(forKey key: String) -> Any? {
    key == "identifier" ? identifier : nil
  }
}
