internal import Atto
import Foundation

/// What a peripheral manager keeps: its services and what it advertises. Subscriptions belong to
/// connections, which end with the process: centrals make them again when they come back.
struct KeptPublications: Codable, Sendable {
  struct Advertisement: Codable, Sendable {
    var name: String?
    var services: [String]

    init(_ wish: AdvertisingWish) {
      name = wish.name
      services = wish.services.map(\.fullDescription)
    }
  }

  var services: [KeptService] = []
  var advertisement: Advertisement?
}

/// A service as it was when it was added.
struct KeptService: Codable, Sendable {
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
  /// Places of the included services in the list of all.
  var includes: [Int]
  var characteristics: [Characteristic]

  init(_ service: CBMutableService, includes: [Int]) {
    uuid = service.uuid.uuidString
    isPrimary = service.isPrimary
    self.includes = includes
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

  /// The service again; nil if the file was tampered with.
  func rebuilt(_ before: [CBMutableService]) -> CBMutableService? {
    guard let type = BluetoothUUID(uuid) else { return nil }
    let service = CBMutableService(type: CBUUID(type), primary: isPrimary)
    let included = includes.filter(before.indices.contains).map { before[$0] }
    if !included.isEmpty { service.includedServices = included }
    service.characteristics = characteristics.compactMap { kept in
      guard let type = BluetoothUUID(kept.uuid) else { return nil }
      let properties = CBCharacteristicProperties(rawValue: kept.properties)
      let permissions = CBAttributePermissions(rawValue: kept.permissions)
      let characteristic = CBMutableCharacteristic(
        type: CBUUID(type), properties: properties,
        value: Publication.mayBeCached(properties, permissions) ? kept.value : nil,
        permissions: permissions)
      characteristic.descriptors = kept.descriptors.compactMap { descriptor in
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
  /// Tells the app what was kept, and then publishes and advertises it again. On the queue.
  func restore(_ kept: KeptPublications) {
    var services: [CBMutableService] = []
    for service in kept.services {
      if let rebuilt = service.rebuilt(services) { services.append(rebuilt) }
    }
    var dictionary: [String: Any] = [:]
    if !services.isEmpty { dictionary[CBPeripheralManagerRestoredStateServicesKey] = services }
    var wish: AdvertisingWish?
    if let advertisement = kept.advertisement {
      var data: [String: Any] = [
        CBAdvertisementDataServiceUUIDsKey: advertisement.services.compactMap {
          BluetoothUUID($0).map { CBUUID($0) }
        }
      ]
      if let name = advertisement.name { data[CBAdvertisementDataLocalNameKey] = name }
      wish = AdvertisingWish(data)
      dictionary[CBPeripheralManagerRestoredStateAdvertisementDataKey] = data
    }
    own.withLock { own in
      own.services = services
      own.isAdvertising = wish != nil
    }
    // Frozen before the app can change them, as at its own `add`.
    let publications = Carried(services.map { Publication($0) })
    delegate?.peripheralManager(self, willRestoreState: dictionary)
    let engine = engine
    RadioLoop.later { engine.resume(publications, wish) }
  }
}
