import ATT

/// What a server holds, as a client has discovered it: values in a tree, by handle.
///
/// It can be kept and given to ``DiscoverDatabase`` at the next connection; if the server's
/// Database Hash is still the same, nothing needs to be discovered again. Vol 3, Part G, 2.5.2.1.
public struct RemoteDatabase: Hashable, Sendable {
  /// Primary and secondary services in the order of their handles.
  public let services: [Service]
  /// The 16 octets of the Database Hash as the server sent them, least significant first if it
  /// keeps to the specification; nil if it was not asked for or the server has none.
  public let databaseHash: [UInt8]?

  /// - Parameters:
  ///   - services: in any order.
  ///   - databaseHash: as a server sent it.
  public init(services: [Service], databaseHash: [UInt8]? = nil) {
    self.services = services.sortedByHandle { $0.handle }
    self.databaseHash = databaseHash
  }

  /// Whether a server with this hash still holds the same. Some servers send the octets in
  /// reverse, and may change to the right order with an update: either order counts as equal.
  public func matches(databaseHash other: [UInt8]) -> Bool {
    guard let databaseHash else { return false }
    return databaseHash == other || databaseHash.elementsEqual(other.reversed())
  }
}

extension RemoteDatabase {
  /// The service whose declaration has this handle.
  public func service(at handle: AttributeHandle) -> Service? {
    guard let service = service(containing: handle), service.handle == handle else { return nil }
    return service
  }

  /// The service that this handle belongs to.
  public func service(containing handle: AttributeHandle) -> Service? {
    guard let index = services.lastIndex(upTo: handle, by: { $0.handle }),
      services[index].contains(handle)
    else { return nil }
    return services[index]
  }

  /// The services of this type, in the order of their handles.
  public func services(_ uuid: BluetoothUUID) -> [Service] {
    services.filter { $0.uuid == uuid }
  }

  /// The service that an include refers to; nil if the server stated a handle where none is.
  public func service(includedAs include: IncludedService) -> Service? {
    service(at: include.startHandle)
  }

  /// All characteristics of this type in all services, in the order of their handles.
  public func characteristics(_ uuid: BluetoothUUID) -> [Characteristic] {
    services.flatMap { $0.characteristics(uuid) }
  }

  /// The characteristic that this handle belongs to: its declaration, its value, a descriptor or
  /// an unused handle after them.
  public func characteristic(containing handle: AttributeHandle) -> Characteristic? {
    guard let characteristics = service(containing: handle)?.characteristics,
      let index = characteristics.lastIndex(upTo: handle, by: { $0.handle }),
      handle <= characteristics[index].endGroupHandle
    else { return nil }
    return characteristics[index]
  }

  /// The characteristic whose value has this handle, as notifications name it.
  public func characteristic(valueHandle: AttributeHandle) -> Characteristic? {
    guard let characteristic = characteristic(containing: valueHandle),
      characteristic.valueHandle == valueHandle
    else { return nil }
    return characteristic
  }

  /// The descriptor with this handle.
  public func descriptor(at handle: AttributeHandle) -> Descriptor? {
    characteristic(containing: handle)?.descriptor(at: handle)
  }
}
