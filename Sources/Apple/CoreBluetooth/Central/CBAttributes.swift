internal import Atto
import AttoGATT
import Foundation

/// The base class of services, characteristics and descriptors.
open class CBAttribute: NSObject {
  /// The type of the attribute.
  open private(set) var uuid: CBUUID

  init(type: CBUUID) {
    uuid = type
    super.init()
  }
}

extension CBAttribute: UnobservedObject {}

/// A service: one that was discovered at a peer, or one of this app (``CBMutableService``).
open class CBService: CBAttribute {
  /// The handles in the peer's database; nil for a service of this app.
  let range: HandleRange?
  /// Whether it is a primary service.
  open private(set) var isPrimary: Bool
  private let owner = Locked(WeakReference<CBPeripheral>())
  let included = Locked<[CBService]?>(nil)
  let contents = Locked<[CBCharacteristic]?>(nil)

  init(type: CBUUID, isPrimary: Bool, range: HandleRange?, peripheral: CBPeripheral?) {
    self.isPrimary = isPrimary
    self.range = range
    super.init(type: type)
    owner.value = WeakReference(peripheral)
  }

  /// The peripheral with this service; nil for a service of this app, and when the peripheral has
  /// been released.
  weak open var peripheral: CBPeripheral? { owner.value.object }
  /// The included services; nil until they were discovered.
  open var includedServices: [CBService]? { included.value }
  /// The characteristics; nil until they were discovered.
  open var characteristics: [CBCharacteristic]? { contents.value }

  open override var description: String {
    "<CBService: isPrimary = \(isPrimary), UUID = \(uuid)>"
  }
}

/// A characteristic: one that was discovered at a peer, or one of this app
/// (``CBMutableCharacteristic``).
open class CBCharacteristic: CBAttribute {
  struct State {
    var service = WeakReference<CBService>()
    var properties: CBCharacteristicProperties = []
    var value: Data?
    var descriptors: [CBDescriptor]?
    var isNotifying = false
  }

  /// The characteristic in the peer's database; nil for one of this app.
  let found: Characteristic?
  let state: Locked<State>
  /// For the messages that are sent over it; not in Apple's framework.
  let messageTurns = MessageTurns()
  /// The number of the connection in which a message was cut short.
  let cutMessages = Locked<Int?>(nil)

  init(
    type: CBUUID, properties: CBCharacteristicProperties, value: Data? = nil,
    found: Characteristic? = nil, service: CBService? = nil
  ) {
    self.found = found
    state = Locked(
      State(service: WeakReference(service), properties: properties, value: value))
    super.init(type: type)
  }

  /// The service that contains it.
  weak open var service: CBService? { state.value.service.object }
  /// The operations that it supports.
  open var properties: CBCharacteristicProperties { state.value.properties }
  /// The value that was last read or notified. In a callback, the value of that callback.
  open var value: Data? { state.value.value }
  /// The descriptors; nil until they were discovered.
  open var descriptors: [CBDescriptor]? { state.value.descriptors }
  /// Always false, as in Apple's framework: broadcasting by the Server Characteristic Configuration
  /// is not supported.
  open var isBroadcasted: Bool { false }
  /// Whether this app is subscribed.
  open var isNotifying: Bool { state.value.isNotifying }

  open override var description: String {
    "<CBCharacteristic: UUID = \(uuid), properties = 0x"
      + String(properties.rawValue, radix: 16, uppercase: true)
      + ", value = \(value.map { "\($0.count) bytes" } ?? "(null)"), notifying = \(isNotifying)>"
  }
}

/// A descriptor of a characteristic.
open class CBDescriptor: CBAttribute {
  struct State {
    var characteristic = WeakReference<CBCharacteristic>()
    var octets: Data?
  }

  /// The handle in the peer's database; nil for a descriptor of this app.
  let handle: AttributeHandle?
  let state: Locked<State>

  init(
    type: CBUUID, octets: Data? = nil, handle: AttributeHandle? = nil,
    characteristic: CBCharacteristic? = nil
  ) {
    self.handle = handle
    state = Locked(State(characteristic: WeakReference(characteristic), octets: octets))
    super.init(type: type)
  }

  /// The characteristic that it describes.
  weak open var characteristic: CBCharacteristic? { state.value.characteristic.object }

  /// The value that was last read: an NSNumber for 2900, 2902 and 2903, a String for 2901, Data for
  /// all others; nil before it was read.
  open var value: Any? { state.value.octets.map { DescriptorValue.typed($0, as: uuid) } }

  open override var description: String { "<CBDescriptor: UUID = \(uuid)>" }
}
