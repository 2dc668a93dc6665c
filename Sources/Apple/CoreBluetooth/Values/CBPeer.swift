import Foundation

/// Another device: a peripheral or a central.
open class CBPeer: NSObject, NSCopying {
  /// The peer's identifier: the same in every run for one peer and one adapter.
  open private(set) var identifier: UUID

  init(identifier: UUID) {
    self.identifier = identifier
    super.init()
  }

  open func copy(with zone: NSZone? = nil) -> Any { self }

  /// Key-value coding for the only key that a peer has on Linux.
  open func value(forKey key: String) -> Any? {
    key == "identifier" ? identifier : nil
  }
}
