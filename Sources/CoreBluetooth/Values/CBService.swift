internal import Atto
import Foundation

/// A service: a peer's, as discovery found it, or one of our own (``CBMutableService``).
open class CBService: CBAttribute {
  /// Where it is in the peer's database; nil for our own.
  let range: HandleRange?
  private let primary: Bool
  private let owner = Guarded(WeakReference<CBPeripheral>())
  let included = Guarded<[CBService]?>(nil)
  let contents = Guarded<[CBCharacteristic]?>(nil)

  init(type: CBUUID, isPrimary: Bool, range: HandleRange?, peripheral: CBPeripheral?) {
    primary = isPrimary
    self.range = range
    super.init(type: type)
    owner.value = WeakReference(peripheral)
  }

  /// The peripheral that has it; nil for our own, and once the peripheral is released.
  weak open var peripheral: CBPeripheral? { owner.value.object }
  /// Whether it is a primary service.
  open var isPrimary: Bool { primary }
  /// What it includes; nil until that was discovered.
  open var includedServices: [CBService]? { included.value }
  /// Its characteristics; nil until they were discovered.
  open var characteristics: [CBCharacteristic]? { contents.value }

  open override var description: String {
    "<CBService: isPrimary = \(isPrimary), UUID = \(uuid.uuidString)>"
  }
}
