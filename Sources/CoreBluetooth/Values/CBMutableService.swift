import Foundation

/// A service of our own, to be published with `CBPeripheralManager.add(_:)`. What it holds at
/// that moment is what is published; later changes have no effect.
open class CBMutableService: CBService {
  /// Services that were added before this one.
  open override var includedServices: [CBService]? {
    get { included.value }
    set { included.value = newValue }
  }

  /// Only ``CBMutableCharacteristic``s can be published.
  open override var characteristics: [CBCharacteristic]? {
    get { contents.value }
    set {
      contents.value = newValue
      for characteristic in newValue ?? [] { characteristic.setService(self) }
    }
  }

  public init(type UUID: CBUUID, primary isPrimary: Bool) {
    super.init(type: UUID, isPrimary: isPrimary, range: nil, peripheral: nil)
  }
}
