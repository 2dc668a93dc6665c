import AttoATT

/// The services of a server with their characteristics and descriptors, from discovery.
///
/// It can be saved and passed to ``DiscoverDatabase`` at the next connection. If the server's
/// Database Hash has not changed, nothing is discovered again. Vol 3, Part G, 2.5.2.1.
public struct RemoteDatabase: Hashable, Sendable {
  /// Primary and secondary services in the order of their handles.
  public let services: [Service]
  /// The 16 octets of the Database Hash in the order in which the server sent them, which should be
  /// least significant first. nil if it was not read or the server has none.
  public let databaseHash: [UInt8]?

  /// - Parameters:
  ///   - services: in any order.
  ///   - databaseHash: the octets of the hash in the order in which the server sent them.
  public init(services: [Service], databaseHash: [UInt8]? = nil) {
    self.services = services.sortedByHandle { $0.handle }
    self.databaseHash = databaseHash
  }

  /// Whether a server with this hash has the same database. Either order of the octets is accepted,
  /// because some servers reverse them and may correct that in an update.
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

  /// The service that contains this handle.
  public func service(containing handle: AttributeHandle) -> Service? {
    guard let index = services.lastIndex(upTo: handle, by: { $0.handle }),
      services[index].contains(handle)
    else { return nil }
    return services[index]
  }

  /// The first service with this UUID, primary or secondary; nil if there is none.
  public func service(_ uuid: BluetoothUUID) -> Service? {
    services.first { $0.uuid == uuid }
  }

  /// The services with this UUID, sorted by handle.
  public func services(_ uuid: BluetoothUUID) -> [Service] {
    services.filter { $0.uuid == uuid }
  }

  /// The service that an include refers to; nil if there is none at its handle.
  public func service(includedAs include: IncludedService) -> Service? {
    service(at: include.startHandle)
  }

  /// The first characteristic with this UUID in all services; nil if there is none.
  public func characteristic(_ uuid: BluetoothUUID) -> Characteristic? {
    for service in services {
      if let found = service.characteristic(uuid) { return found }
    }
    return nil
  }

  /// The characteristics with this UUID in all services, sorted by handle.
  public func characteristics(_ uuid: BluetoothUUID) -> [Characteristic] {
    services.flatMap { $0.characteristics(uuid) }
  }

  /// The characteristic that contains this handle: its declaration, its value, a descriptor or an
  /// unused handle after them.
  public func characteristic(containing handle: AttributeHandle) -> Characteristic? {
    guard let characteristics = service(containing: handle)?.characteristics,
      let index = characteristics.lastIndex(upTo: handle, by: { $0.declarationHandle }),
      handle <= characteristics[index].endGroupHandle
    else { return nil }
    return characteristics[index]
  }

  /// The characteristic whose value has this handle, as in a notification.
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
