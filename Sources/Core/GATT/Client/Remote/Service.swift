import AttoATT

/// A service of a server, from discovery. Vol 3, Part G, 3.1.
public struct Service: Hashable, Sendable {
  /// The handle of the service declaration.
  public let handle: AttributeHandle
  /// The last handle of the service; equal to `handle` if it is empty.
  public let endGroupHandle: AttributeHandle
  /// The UUID.
  public let uuid: BluetoothUUID
  /// True for a primary service, false for a secondary one.
  public let isPrimary: Bool
  /// Sorted by handle. Empty in results of procedures that discover only services.
  public internal(set) var includes: [IncludedService]
  /// Sorted by handle. Empty in results of procedures that discover only services.
  public internal(set) var characteristics: [Characteristic]

  /// Creates a value with these properties.
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

  /// The range from the declaration to the last handle; nil if the two are not a range.
  public var range: HandleRange? { HandleRange(handle, endGroupHandle) }

  /// Whether the handle belongs to the service.
  public func contains(_ handle: AttributeHandle) -> Bool {
    self.handle <= handle && handle <= endGroupHandle
  }

  /// The first characteristic with this UUID; nil if there is none.
  public func characteristic(_ uuid: BluetoothUUID) -> Characteristic? {
    characteristics.first { $0.uuid == uuid }
  }

  /// The characteristics with this UUID, of which a service may have several.
  public func characteristics(_ uuid: BluetoothUUID) -> [Characteristic] {
    characteristics.filter { $0.uuid == uuid }
  }
}

/// A reference from one service to another. Vol 3, Part G, 3.2.
public struct IncludedService: Hashable, Sendable {
  /// The handle of the include declaration.
  public let handle: AttributeHandle
  /// The handle of the included service's declaration, according to the server.
  public let startHandle: AttributeHandle
  /// The last handle of the included service, according to the server.
  public let endGroupHandle: AttributeHandle
  /// The included service's UUID.
  public let uuid: BluetoothUUID

  /// Creates a value with these properties.
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
