internal import Atto
import AttoGATT
import Foundation

/// A discovered service of a saved peripheral. What was not discovered is nil, as in the app's objects.
struct SavedRemoteService: Codable, Sendable {
  struct Characteristic: Codable, Sendable {
    var uuid: String
    var properties: UInt8
    var handle: UInt16
    var valueHandle: UInt16
    var endHandle: UInt16
    var isNotifying: Bool
    var descriptors: [Descriptor]?

    /// The characteristic in the peer's database; nil if the saved values make none.
    var found: AttoGATT.Characteristic? {
      guard let uuid = BluetoothUUID(uuid), handle > 0, valueHandle > handle,
        endHandle >= valueHandle
      else { return nil }
      return AttoGATT.Characteristic(
        declarationHandle: AttributeHandle(handle), valueHandle: AttributeHandle(valueHandle),
        endGroupHandle: AttributeHandle(endHandle),
        properties: CharacteristicProperties(rawValue: properties), uuid: uuid)
    }
  }

  struct Descriptor: Codable, Sendable {
    var uuid: String
    var handle: UInt16
  }

  var uuid: String
  var isPrimary: Bool
  var start: UInt16
  var end: UInt16
  /// Whether it is one of the peripheral's `services`. Others are only included.
  var isListed: Bool
  /// Indices of the included services in the list of all services.
  var includes: [Int]?
  var characteristics: [Characteristic]?

  var range: HandleRange? { HandleRange(AttributeHandle(start), AttributeHandle(end)) }
}

extension CBPeripheral {
  /// Copies the discovered services; nil before discovery. On any thread.
  func savedServices(notifying: Set<AttributeHandle>) -> [SavedRemoteService]? {
    guard let listed = shown.value.services else { return nil }
    // Services may include each other.
    var all: [CBService] = []
    var indices: [ObjectIdentifier: Int] = [:]
    func add(_ service: CBService) {
      guard indices[ObjectIdentifier(service)] == nil else { return }
      indices[ObjectIdentifier(service)] = all.count
      all.append(service)
    }
    for service in listed { add(service) }
    var next = 0
    while next < all.count {
      for service in all[next].includedServices ?? [] { add(service) }
      next += 1
    }
    return all.enumerated().map { index, service in
      SavedRemoteService(
        uuid: service.uuid.uuidString, isPrimary: service.isPrimary,
        start: service.range?.start.rawValue ?? 0, end: service.range?.end.rawValue ?? 0,
        isListed: index < listed.count,
        includes: service.includedServices?.compactMap { indices[ObjectIdentifier($0)] },
        characteristics: service.characteristics?.compactMap { one in
          one.found.map {
            SavedRemoteService.Characteristic($0, one, notifying.contains($0.valueHandle))
          }
        })
    }
  }

  /// Creates the saved services. Those whose values make no service are left out.
  func restore(_ saved: [SavedRemoteService]?) {
    let made = (saved ?? []).map { saved -> CBService? in
      guard let range = saved.range, let type = BluetoothUUID(saved.uuid) else { return nil }
      let service = CBService(
        type: CBUUID(type), isPrimary: saved.isPrimary, range: range, peripheral: self)
      service.contents.value = saved.characteristics?.compactMap { $0.rebuilt(in: service) }
      return service
    }
    for (saved, service) in zip(saved ?? [], made) {
      service?.included.value = saved.includes?.compactMap {
        made.indices.contains($0) ? made[$0] : nil
      }
    }
    let listed = zip(saved ?? [], made).compactMap { $0.isListed ? $1 : nil }
    KnownPeers.add(listed.map(\.uuid.bluetooth), of: identifier)
    shown.withLock { shown in
      shown.state = .connecting
      shown.services = saved == nil ? nil : listed
    }
    observers.check()
  }

  /// The app has discovered something.
  func saveServices() { RadioLoop.later { [remote] in remote.manager.save() } }
}

extension SavedRemoteService.Characteristic {
  fileprivate init(
    _ found: AttoGATT.Characteristic, _ characteristic: CBCharacteristic, _ isNotifying: Bool
  ) {
    uuid = found.uuid.fullDescription
    properties = found.properties.rawValue
    handle = found.declarationHandle.rawValue
    valueHandle = found.valueHandle.rawValue
    endHandle = found.endGroupHandle.rawValue
    self.isNotifying = isNotifying
    descriptors = characteristic.descriptors?.compactMap { one in
      one.handle.map {
        SavedRemoteService.Descriptor(uuid: one.uuid.uuidString, handle: $0.rawValue)
      }
    }
  }

  fileprivate func rebuilt(in service: CBService) -> CBCharacteristic? {
    guard let found else { return nil }
    let made = CBCharacteristic(
      type: CBUUID(found.uuid),
      properties: CBCharacteristicProperties(rawValue: UInt(properties)), found: found,
      service: service)
    made.state.withLock { state in
      state.isNotifying = isNotifying
      state.descriptors = descriptors?.compactMap { saved in
        guard let type = BluetoothUUID(saved.uuid), saved.handle > 0 else { return nil }
        return CBDescriptor(
          type: CBUUID(type), handle: AttributeHandle(saved.handle), characteristic: made)
      }
    }
    return made
  }
}
