import ATT

/// A service of a server, as discovery found it. Vol 3, Part G, 3.1.
public struct Service: Hashable, Sendable {
  /// The handle of the service declaration.
  public let handle: AttributeHandle
  /// The last handle that belongs to the service; `handle` itself if it is empty.
  public let endGroupHandle: AttributeHandle
  /// What it is.
  public let uuid: BluetoothUUID
  /// True for a primary service, false for a secondary one.
  public let isPrimary: Bool
  /// In the order of their handles. Empty from procedures that look for services alone.
  public internal(set) var includes: [IncludedService]
  /// In the order of their handles. Empty from procedures that look for services alone.
  public internal(set) var characteristics: [Characteristic]

  /// One with these values; its properties say what each means.
  public init(
    handle: AttributeHandle, endGroupHandle: AttributeHandle, uuid: BluetoothUUID,
    isPrimary: Bool = true, includes: [IncludedService] = [],
    characteristics: [Characteristic] = []
  ) {
    self.handle = handle
    self.endGroupHandle = endGroupHandle
    self.uuid = uuid
    self.isPrimary = isPrimary
    self.includes = includes
    self.characteristics = characteristics
  }

  /// From the declaration to the last handle; nil if the two were never a range.
  public var range: HandleRange? { HandleRange(handle, endGroupHandle) }

  /// Whether the handle belongs to the service.
  public func contains(_ handle: AttributeHandle) -> Bool {
    self.handle <= handle && handle <= endGroupHandle
  }

  /// The characteristics of this type: a service may have several.
  public func characteristics(_ uuid: BluetoothUUID) -> [Characteristic] {
    characteristics.filter { $0.uuid == uuid }
  }
}

/// A reference from one service to another. Vol 3, Part G, 3.2.
public struct IncludedService: Hashable, Sendable {
  /// The handle of the include declaration, in the service that includes.
  public let handle: AttributeHandle
  /// The handle of the included service's declaration, as the server states it.
  public let startHandle: AttributeHandle
  /// The last handle of the included service, as the server states it.
  public let endGroupHandle: AttributeHandle
  /// The included service's UUID.
  public let uuid: BluetoothUUID

  /// One with these values; its properties say what each means.
  public init(
    handle: AttributeHandle, startHandle: AttributeHandle, endGroupHandle: AttributeHandle,
    uuid: BluetoothUUID
  ) {
    self.handle = handle
    self.startHandle = startHandle
    self.endGroupHandle = endGroupHandle
    self.uuid = uuid
  }
}
