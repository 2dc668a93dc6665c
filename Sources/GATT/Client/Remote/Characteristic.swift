import ATT

/// A characteristic of a server, as discovery found it. Vol 3, Part G, 3.3.
public struct Characteristic: Hashable, Sendable {
  /// The handle of the characteristic declaration.
  public let handle: AttributeHandle
  /// The handle of the value: what reads, writes and notifications name.
  public let valueHandle: AttributeHandle
  /// The last handle that can belong to the characteristic: before the next declaration, or
  /// where the service (or the range that was searched) ends. Computed; the server states none.
  public let endGroupHandle: AttributeHandle
  /// What may be done with its value, as the declaration says.
  public let properties: CharacteristicProperties
  /// What it is.
  public let uuid: BluetoothUUID
  /// In the order of their handles. Empty from procedures that look for characteristics alone.
  ///
  /// The array is made when it is asked for: a discovery keeps those of a whole service in one.
  public var descriptors: [Descriptor] { Array(part) }
  /// The same, where they are kept.
  private let part: ArraySlice<Descriptor>

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
    part = descriptors[...]
  }

  init(_ found: CharacteristicSearch.Found, descriptors: ArraySlice<Descriptor>) {
    handle = found.handle
    valueHandle = found.valueHandle
    endGroupHandle = found.endGroupHandle
    properties = found.properties
    uuid = found.uuid
    part = descriptors
  }

  /// Where descriptors can be: from after the value to the end; nil if there is no room.
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
