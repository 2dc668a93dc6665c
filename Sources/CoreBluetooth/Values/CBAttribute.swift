import Foundation

/// What services, characteristics and descriptors have in common: their type.
open class CBAttribute: NSObject {
  private let type: CBUUID

  init(type: CBUUID) {
    self.type = type
    super.init()
  }

  /// The type.
  open var uuid: CBUUID { type }
}
