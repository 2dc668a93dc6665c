import Foundation

/// A characteristic of our own, to be put into a ``CBMutableService``.
///
/// With a value it is constant: the value is served by itself, and the characteristic must be
/// readable only. Without one every read is asked of the app.
open class CBMutableCharacteristic: CBCharacteristic {
  struct Publication {
    var permissions: CBAttributePermissions
    var subscribers: [CBCentral] = []
  }

  let publication: Guarded<Publication>

  /// Who may do what.
  open var permissions: CBAttributePermissions {
    get { publication.value.permissions }
    set { publication.withLock { $0.permissions = newValue } }
  }

  /// Centrals that have asked for notifications or indications, in the order of their asking.
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
      for descriptor in newValue ?? [] { descriptor.setCharacteristic(self) }
    }
  }

  public init(
    type UUID: CBUUID, properties: CBCharacteristicProperties, value: Data?,
    permissions: CBAttributePermissions
  ) {
    publication = Guarded(Publication(permissions: permissions))
    super.init(type: UUID, properties: properties, value: value)
  }
}
