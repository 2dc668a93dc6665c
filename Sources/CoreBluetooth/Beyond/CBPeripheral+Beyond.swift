internal import Atto
import Foundation

extension CBPeripheral {
  /// Not Apple's: the address, as `C0:11:22:33:44:55`.
  public var address: String { remote.address.digits }

  /// Not Apple's: whether the address was chosen by the device rather than assigned by the IEEE.
  public var hasRandomAddress: Bool { remote.address.kind == .random }

  /// Not Apple's: whether ``discoverServices(_:)`` shows the Generic Access (1800) and Generic
  /// Attribute (1801) services, which iOS hides.
  public var showsGenericServices: Bool {
    get { shown.value.showsGenericServices }
    set { shown.withLock { $0.showsGenericServices = newValue } }
  }
}
