internal import Atto
import Foundation

/// A descriptor of a characteristic.
open class CBDescriptor: CBAttribute {
  struct State {
    var characteristic = WeakReference<CBCharacteristic>()
    /// The octets, from which `value` is made.
    var octets: Data?
  }

  /// Where it is in the peer's database; nil for our own.
  let handle: AttributeHandle?
  let state: Guarded<State>

  init(
    type: CBUUID, octets: Data? = nil, handle: AttributeHandle? = nil,
    characteristic: CBCharacteristic? = nil
  ) {
    self.handle = handle
    state = Guarded(State(characteristic: WeakReference(characteristic), octets: octets))
    super.init(type: type)
  }

  /// The characteristic that it describes.
  weak open var characteristic: CBCharacteristic? { state.value.characteristic.object }

  /// What was last read, in the form that belongs to its type: NSNumber for 2900, 2902 and 2903,
  /// String for 2901, Data for all others; nil before it was read.
  open var value: Any? { state.value.octets.map { DescriptorValue.typed($0, as: uuid) } }

  func setCharacteristic(_ characteristic: CBCharacteristic) {
    state.withLock { $0.characteristic = WeakReference(characteristic) }
  }

  open override var description: String { "<CBDescriptor: UUID = \(uuid.uuidString)>" }
}
