import Foundation

/// A service of this app, for `CBPeripheralManager.add(_:)`. Its content at that moment is published;
/// later changes have no effect.
open class CBMutableService: CBService {
  /// The included services, which must be added before this one.
  open override var includedServices: [CBService]? {
    get { included.value }
    set { included.value = newValue }
  }

  /// The characteristics. Only ``CBMutableCharacteristic``s can be published.
  open override var characteristics: [CBCharacteristic]? {
    get { contents.value }
    set {
      contents.value = newValue
      for characteristic in newValue ?? [] {
        characteristic.state.withLock { $0.service = WeakReference(self) }
      }
    }
  }

  public init(type UUID: CBUUID, primary isPrimary: Bool) {
    super.init(type: UUID, isPrimary: isPrimary, range: nil, peripheral: nil)
  }
}

/// A characteristic of this app, for a ``CBMutableService``.
///
/// A characteristic with a value is constant: reads are answered with the value, and it must be
/// read-only. Without a value, the delegate is asked for each read.
open class CBMutableCharacteristic: CBCharacteristic {
  struct Publication {
    var permissions: CBAttributePermissions
    var subscribers: [CBCentral] = []
  }

  let publication: Locked<Publication>

  /// The operations that centrals may use, and their security.
  open var permissions: CBAttributePermissions {
    get { publication.value.permissions }
    set { publication.withLock { $0.permissions = newValue } }
  }

  /// The subscribed centrals, in the order of their subscriptions.
  open var subscribedCentrals: [CBCentral]? { publication.value.subscribers }

  open override var properties: CBCharacteristicProperties {
    get { state.value.properties }
    set { state.withLock { $0.properties = newValue } }
  }

  open override var value: Data? {
    get { state.value.value }
    set { state.withLock { $0.value = newValue } }
  }

  open override var descriptors: [CBDescriptor]? {
    get { state.value.descriptors }
    set {
      state.withLock { $0.descriptors = newValue }
      for descriptor in newValue ?? [] {
        descriptor.state.withLock { $0.characteristic = WeakReference(self) }
      }
    }
  }

  public init(
    type UUID: CBUUID, properties: CBCharacteristicProperties, value: Data?,
    permissions: CBAttributePermissions
  ) {
    publication = Locked(Publication(permissions: permissions))
    super.init(type: UUID, properties: properties, value: value)
  }
}

/// A descriptor of this app: Characteristic User Description (2901, a String) or Presentation Format
/// (2904, Data). No other can be published; 2900 and 2902 are added where they belong.
open class CBMutableDescriptor: CBDescriptor {
  /// Traps for a type other than 2901 and 2904, and for a value of the wrong type, where Apple's
  /// framework raises an exception.
  public init(type UUID: CBUUID, value: Any?) {
    guard ["2901", "2904"].contains(UUID.uuidString) else {
      preconditionFailure(
        "CBMutableDescriptor(type:value:) does not support the type \(UUID.uuidString): use 2901 or"
          + " 2904; 2900 and 2902 are added automatically")
    }
    guard let value else {
      super.init(type: UUID)
      return
    }
    guard let octets = DescriptorValue.octets(value, as: UUID) else {
      preconditionFailure(
        "the value of a descriptor \(UUID.uuidString) must be "
          + (UUID.uuidString == "2901" ? "a String" : "Data") + ", not \(Swift.type(of: value))")
    }
    super.init(type: UUID, octets: octets)
  }
}
