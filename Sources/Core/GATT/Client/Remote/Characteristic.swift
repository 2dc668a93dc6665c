import AttoATT

/// A characteristic of a server, from discovery. Vol 3, Part G, 3.3.
public struct Characteristic: Hashable, Sendable {
  /// The handle of the characteristic declaration, whose value has the properties and the UUID.
  /// Reads and writes of the characteristic's value use ``valueHandle``.
  public let declarationHandle: AttributeHandle
  /// The handle of the value, for reads, writes and notifications.
  public let valueHandle: AttributeHandle
  /// The last handle that can belong to the characteristic: the one before the next declaration, or
  /// the end of the service or the searched range. It is computed, because servers do not send it.
  public let endGroupHandle: AttributeHandle
  /// The properties in the declaration.
  public let properties: CharacteristicProperties
  /// The UUID.
  public let uuid: BluetoothUUID
  /// Sorted by handle. Empty in results of procedures that discover only characteristics.
  ///
  /// Each access creates an array, because discovery stores the descriptors of a service together.
  public var descriptors: [Descriptor] { Array(part) }
  /// The descriptors in the array of their service.
  private let part: ArraySlice<Descriptor>

  /// Creates a value with these properties.
  public init(
    declarationHandle: AttributeHandle, valueHandle: AttributeHandle,
    endGroupHandle: AttributeHandle, properties: CharacteristicProperties, uuid: BluetoothUUID,
    descriptors: [Descriptor] = []
  ) {
    self.init(
      declarationHandle: declarationHandle, valueHandle: valueHandle,
      endGroupHandle: endGroupHandle, properties: properties, uuid: uuid, part: descriptors[...])
  }

  init(
    declarationHandle: AttributeHandle, valueHandle: AttributeHandle,
    endGroupHandle: AttributeHandle, properties: CharacteristicProperties, uuid: BluetoothUUID,
    part: ArraySlice<Descriptor>
  ) {
    self.declarationHandle = declarationHandle
    self.valueHandle = valueHandle
    self.endGroupHandle = endGroupHandle
    self.properties = properties
    self.uuid = uuid
    self.part = part
  }

  /// The range of possible descriptors: from after the value to the end. nil if it is empty.
  public var descriptorRange: HandleRange? {
    guard let first = valueHandle.next else { return nil }
    return HandleRange(first, endGroupHandle)
  }

  /// The first descriptor of a type.
  public func descriptor(_ uuid: BluetoothUUID) -> Descriptor? {
    part.first { $0.uuid == uuid }
  }

  /// The descriptor with this handle.
  func descriptor(at handle: AttributeHandle) -> Descriptor? { part.first { $0.handle == handle } }

  /// The Client Characteristic Configuration descriptor, which turns notifications and indications
  /// on. Vol 3, Part G, 3.3.3.3.
  public var cccd: Descriptor? { descriptor(.clientCharacteristicConfiguration) }
}

/// A characteristic descriptor of a server, or any attribute in results of ``DiscoverDescriptors``.
/// Vol 3, Part G, 3.3.3.
public struct Descriptor: Hashable, Sendable {
  /// The attribute.
  public let handle: AttributeHandle
  /// The UUID.
  public let uuid: BluetoothUUID

  /// Creates a value with these properties.
  public init(handle: AttributeHandle, uuid: BluetoothUUID) {
    self.handle = handle
    self.uuid = uuid
  }
}
