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

  /// Key-value coding, which classes do not have on Linux: `identifier`, and of a ``CBPeripheral`` also `name`,
  /// `state`, `services`, `canSendWriteWithoutResponse` and `mtuLength`. Numbers are objects, as on Apple's
  /// systems. For any other key the value is nil, and a warning is logged.
  open func value(forKey key: String) -> Any? {
    if key == "identifier" { return identifier }
    Warning.log("API MISUSE: \(type(of: self)) has no value for the key \"\(key)\"")
    return nil
  }
}
