internal import Atto
import Foundation

/// The saved state of a peripheral manager: its services and its advertisement. Subscriptions are not
/// part of it: they end with the connections, and centrals subscribe again when they reconnect.
struct SavedPublications: Codable, Sendable {
  struct Advertisement: Codable, Sendable {
    var name: String?
    var services: [String]

    init(_ request: AdvertisingRequest) {
      name = request.name
      services = request.services.map(\.fullDescription)
    }
  }

  var services: [SavedService] = []
  var advertisement: Advertisement?
}

/// A service as it was when it was added.
struct SavedService: Codable, Sendable {
  struct Characteristic: Codable, Sendable {
    var uuid: String
    var properties: UInt
    var permissions: UInt
    var value: Data?
    var descriptors: [Descriptor]
  }

  struct Descriptor: Codable, Sendable {
    var uuid: String
    var octets: Data?
  }

  var uuid: String
  var isPrimary: Bool
  /// Indices of the included services in the list of all services.
  var includes: [Int] = []
  var characteristics: [Characteristic]

  init(_ service: CBMutableService) {
    uuid = service.uuid.uuidString
    isPrimary = service.isPrimary
    characteristics = (service.characteristics ?? []).map { one in
      Characteristic(
        uuid: one.uuid.uuidString, properties: one.properties.rawValue,
        permissions: (one as? CBMutableCharacteristic)?.permissions.rawValue ?? 0,
        value: one.value,
        descriptors: (one.descriptors ?? []).map {
          Descriptor(uuid: $0.uuid.uuidString, octets: $0.state.value.octets)
        })
    }
  }

  /// Creates the service; nil if the saved values make none.
  ///
  /// - Parameter before: the services that were created before this one.
  func rebuilt(_ before: [CBMutableService]) -> CBMutableService? {
    guard let type = BluetoothUUID(uuid) else { return nil }
    let service = CBMutableService(type: CBUUID(type), primary: isPrimary)
    let included = includes.filter(before.indices.contains).map { before[$0] }
    if !included.isEmpty { service.includedServices = included }
    service.characteristics = characteristics.compactMap { saved in
      guard let type = BluetoothUUID(saved.uuid) else { return nil }
      let properties = CBCharacteristicProperties(rawValue: saved.properties)
      let permissions = CBAttributePermissions(rawValue: saved.permissions)
      let characteristic = CBMutableCharacteristic(
        type: CBUUID(type), properties: properties,
        value: Publication.mayBeCached(properties, permissions) ? saved.value : nil,
        permissions: permissions)
      characteristic.descriptors = saved.descriptors.compactMap { descriptor in
        guard ["2901", "2904"].contains(descriptor.uuid) else { return nil }
        let type = CBUUID(string: descriptor.uuid)
        return CBMutableDescriptor(
          type: type, value: descriptor.octets.map { DescriptorValue.typed($0, as: type) })
      }
      return characteristic
    }
    return service
  }
}

extension CBPeripheralManager {
  /// Reports the saved state to the delegate, then publishes and advertises it. On the app's queue.
  func restore(_ saved: SavedPublications, _ delegate: AnyObject) {
    var services: [CBMutableService] = []
    for service in saved.services {
      if let rebuilt = service.rebuilt(services) { services.append(rebuilt) }
    }
    var dictionary: [String: Any] = [:]
    if !services.isEmpty { dictionary[CBPeripheralManagerRestoredStateServicesKey] = services }
    var request: AdvertisingRequest?
    if let advertisement = saved.advertisement {
      var data: [String: Any] = [
        CBAdvertisementDataServiceUUIDsKey: advertisement.services.compactMap {
          BluetoothUUID($0).map { CBUUID($0) }
        }
      ]
      if let name = advertisement.name { data[CBAdvertisementDataLocalNameKey] = name }
      request = AdvertisingRequest(data)
      dictionary[CBPeripheralManagerRestoredStateAdvertisementDataKey] = data
    }
    own.withLock { own in
      own.services = services + own.services
      own.isAdvertising = request != nil
    }
    observers.check()
    // Frozen before the app can change them, as in `add`.
    let publications = UncheckedBox(services.map { Publication($0) })
    (delegate as? any CBPeripheralManagerDelegate)?
      .peripheralManager(self, willRestoreState: dictionary)
    RadioLoop.later { [engine, request] in engine.resume(publications, request) }
  }
}
