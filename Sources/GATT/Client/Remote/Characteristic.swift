import ATT

/// A characteristic of a server, as discovery found it. Vol 3, Part G, 3.3.
public struct Characteristic: Hashable, Sendable {
  /// The handle of the characteristic declaration.
  public let handle: AttributeHandle
  /// The handle of the value: what reads, writes and notifications name.
  public let valueHandle: AttributeHandle
  /// The last handle that can belong to the characteristic: before the next declaration, or
  /// where the service (or the range that was searched) ends. Computed; the server states none.
  public internal(set) var endGroupHandle: AttributeHandle
  /// What may be done with its value, as the declaration says.
  public let properties: CharacteristicProperties
  /// What it is.
  public let uuid: BluetoothUUID
  /// In the order of their handles. Empty from procedures that look for characteristics alone.
  public internal(set) var descriptors: [Descriptor]

  /// One with these values; its properties say what each means.
  public init(
    handle: AttributeHandle, valueHandle: AttributeHandle, endGroupHandle: AttributeHandle,
    properties: CharacteristicProperties, uuid: BluetoothUUID, descriptors: [Descriptor] = []
  ) {
    self.handle = handle
    self.valueHandle = valueHandle
    self.endGroupHandle = endGroupHandle
    self.properties = properties
    self.uuid = uuid
    self.descriptors = descriptors
  }

  /// Where descriptors can be: from after the value to the end; nil if there is no room.
  public var descriptorRange: HandleRange? {
    guard let first = valueHandle.next else { return nil }
    return HandleRange(first, endGroupHandle)
  }

  /// The first descriptor of a type.
  public func descriptor(_ uuid: BluetoothUUID) -> Descriptor? {
    descriptors.first { $0.uuid == uuid }
  }

  /// The Client Characteristic Configuration descriptor, whose value turns notifications and
  /// indications on. Vol 3, Part G, 3.3.3.3.
  public var cccd: Descriptor? { descriptor(.clientCharacteristicConfiguration) }
}

/// A characteristic descriptor of a server; from ``DiscoverDescriptors``, any attribute. Vol 3,
/// Part G, 3.3.3.
public struct Descriptor: Hashable, Sendable {
  /// The attribute.
  public let handle: AttributeHandle
  /// What it is.
  public let uuid: BluetoothUUID

  /// One with these values; its properties say what each means.
  public init(handle: AttributeHandle, uuid: BluetoothUUID) {
    self.handle = handle
    self.uuid = uuid
  }
}
