internal import Atto
import Foundation

/// A characteristic: a peer's, as discovery found it, or one of our own
/// (``CBMutableCharacteristic``).
open class CBCharacteristic: CBAttribute {
  struct State {
    var service = WeakReference<CBService>()
    var properties: CBCharacteristicProperties = []
    var value: Data?
    var descriptors: [CBDescriptor]?
    var isNotifying = false
  }

  /// Where it is in the peer's database; nil for our own.
  let found: Characteristic?
  let state: Guarded<State>
  /// Of those that are sent by it; not Apple's.
  let messageTurns = MessageTurns()
  /// The connection in which a message was not sent to its end.
  let cutMessages = Guarded<Int?>(nil)

  init(
    type: CBUUID, properties: CBCharacteristicProperties, value: Data? = nil,
    found: Characteristic? = nil, service: CBService? = nil
  ) {
    self.found = found
    state = Guarded(
      State(service: WeakReference(service), properties: properties, value: value))
    super.init(type: type)
  }

  /// The service that holds it.
  weak open var service: CBService? { state.value.service.object }
  /// What it offers.
  open var properties: CBCharacteristicProperties { state.value.properties }
  /// What was last read or notified; in a callback the value that the callback is about.
  open var value: Data? { state.value.value }
  /// Its descriptors; nil until they were discovered.
  open var descriptors: [CBDescriptor]? { state.value.descriptors }
  /// Whether its Server Characteristic Configuration says that it is broadcast. Always false:
  /// Apple's has been for years.
  open var isBroadcasted: Bool { false }
  /// Whether we are subscribed.
  open var isNotifying: Bool { state.value.isNotifying }

  func setService(_ service: CBService) { state.withLock { $0.service = WeakReference(service) } }

  open override var description: String {
    "<CBCharacteristic: UUID = \(uuid.uuidString), properties = 0x"
      + String(properties.rawValue, radix: 16, uppercase: true)
      + ", value = \(value.map { "\($0.count) bytes" } ?? "(null)"), notifying = \(isNotifying)>"
  }
}
