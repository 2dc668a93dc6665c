internal import Atto
import AttoGATT
import Foundation

extension CBPeripheral {
  /// Discovers primary services: all, or those with the given UUIDs. The Generic Access and Generic
  /// Attribute services stay hidden, as on iOS, unless ``showsGenericServices`` is set.
  public func discoverServices(_ serviceUUIDs: [CBUUID]?) {
    let wanted = serviceUUIDs.map { $0.map(\.bluetooth) } ?? []
    perform { (connection, remote) async throws(AttoError) -> [Service] in
      remote.commandsMayFollow()
      guard !wanted.isEmpty else { return try await connection.perform(DiscoverPrimaryServices()) }
      var found: [Service] = []
      for uuid in wanted {
        found += try await connection.perform(DiscoverPrimaryServicesByUUID(uuid))
      }
      return found
    } _: { peripheral, result in
      if case .success(let found) = result {
        peripheral.adopt(found, isWhole: wanted.isEmpty)
      }
      peripheral.delegate?.peripheral(peripheral, didDiscoverServices: result.error)
    }
  }

  private func adopt(_ found: [Service], isWhole: Bool) {
    KnownPeers.add(found.map(\.uuid), of: identifier)
    let showsAll = shown.value.showsGenericServices
    let known = shown.value.services ?? []
    var services = isWhole ? [] : known
    for service in found where showsAll || ![0x1800, 0x1801].contains(service.uuid) {
      guard let range = service.range,
        !services.contains(where: { $0.range == range && $0.uuid.bluetooth == service.uuid })
      else { continue }
      services.append(
        known.first { $0.range == range && $0.uuid.bluetooth == service.uuid }
          ?? CBService(
            type: CBUUID(service.uuid), isPrimary: true, range: range, peripheral: self))
    }
    services.sort { ($0.range?.start ?? .min) < ($1.range?.start ?? .min) }
    shown.withLock { $0.services = services }
    observers.check()
    saveServices()
  }

  /// Discovers the included services of a service: all, or those with the given UUIDs.
  public func discoverIncludedServices(_ includedServiceUUIDs: [CBUUID]?, for service: CBService) {
    guard isMine(service), let range = service.range else { return }
    let wanted = (includedServiceUUIDs ?? []).map(\.bluetooth)
    perform { (connection, remote) async throws(AttoError) -> [IncludedService] in
      remote.commandsMayFollow()
      return try await connection.perform(FindIncludedServices(in: range))
    } _: { peripheral, result in
      if case .success(let found) = result {
        peripheral.adopt(found.filter { wanted.isEmpty || wanted.contains($0.uuid) }, in: service)
      }
      peripheral.delegate?.peripheral(
        peripheral, didDiscoverIncludedServicesFor: service, error: result.error)
    }
  }

  private func adopt(_ found: [IncludedService], in service: CBService) {
    let known = (shown.value.services ?? []) + (service.includedServices ?? [])
    var included: [CBService] = service.includedServices ?? []
    for include in found {
      guard let range = HandleRange(include.startHandle, include.endGroupHandle),
        !included.contains(where: { $0.range == range })
      else { continue }
      included.append(
        known.first { $0.range == range }
          ?? CBService(
            type: CBUUID(include.uuid), isPrimary: false, range: range, peripheral: self))
    }
    service.included.value = included
    saveServices()
  }

  /// Discovers the characteristics of a service: all, or those with the given UUIDs.
  public func discoverCharacteristics(_ characteristicUUIDs: [CBUUID]?, for service: CBService) {
    guard isMine(service), let range = service.range else { return }
    let wanted = (characteristicUUIDs ?? []).map(\.bluetooth)
    perform { (connection, remote) async throws(AttoError) -> [Characteristic] in
      remote.commandsMayFollow()
      return try await connection.perform(DiscoverCharacteristics(in: range))
    } _: { peripheral, result in
      if case .success(let found) = result {
        Self.adopt(found.filter { wanted.isEmpty || wanted.contains($0.uuid) }, in: service)
      }
      peripheral.delegate?.peripheral(
        peripheral, didDiscoverCharacteristicsFor: service, error: result.error)
    }
  }

  private static func adopt(_ found: [Characteristic], in service: CBService) {
    var characteristics = service.characteristics ?? []
    for characteristic in found
    where !characteristics.contains(where: {
      $0.found?.declarationHandle == characteristic.declarationHandle
    }) {
      characteristics.append(
        CBCharacteristic(
          type: CBUUID(characteristic.uuid),
          properties: CBCharacteristicProperties(
            rawValue: UInt(characteristic.properties.rawValue)),
          found: characteristic, service: service))
    }
    characteristics.sort {
      ($0.found?.declarationHandle ?? .min) < ($1.found?.declarationHandle ?? .min)
    }
    service.contents.value = characteristics
    service.peripheral?.saveServices()
  }

  /// Discovers the descriptors of a characteristic.
  public func discoverDescriptors(for characteristic: CBCharacteristic) {
    guard let found = mine(characteristic) else { return }
    perform { (connection, remote) async throws(AttoError) -> [Descriptor] in
      remote.commandsMayFollow()
      guard let range = found.descriptorRange else { return [] }
      return try await connection.perform(DiscoverDescriptors(in: range))
    } _: { peripheral, result in
      if case .success(let list) = result {
        Self.adopt(list, in: characteristic)
      }
      peripheral.delegate?.peripheral(
        peripheral, didDiscoverDescriptorsFor: characteristic, error: result.error)
    }
  }

  private static func adopt(_ found: [Descriptor], in characteristic: CBCharacteristic) {
    let known = characteristic.descriptors ?? []
    let descriptors = found.map { entry in
      known.first { $0.handle == entry.handle && $0.uuid.bluetooth == entry.uuid }
        ?? CBDescriptor(
          type: CBUUID(entry.uuid), handle: entry.handle, characteristic: characteristic)
    }
    characteristic.state.withLock { $0.descriptors = descriptors }
    characteristic.service?.peripheral?.saveServices()
  }

  /// Replaces the services with those of a whole database.
  func adoptAll(_ database: RemoteDatabase) {
    func found(_ service: CBService) -> Service? {
      database.services.first { $0.range == service.range }
    }
    adopt(database.services.filter(\.isPrimary), isWhole: true)
    var all = shown.value.services ?? []
    for service in all {
      adopt(found(service)?.includes ?? [], in: service)
      all += service.includedServices ?? []
    }
    for service in all {
      guard let found = found(service) else { continue }
      Self.adopt(found.characteristics, in: service)
      for characteristic in service.characteristics ?? [] where characteristic.descriptors == nil {
        let same = found.characteristics.first {
          $0.declarationHandle == characteristic.found?.declarationHandle
        }
        Self.adopt(same?.descriptors ?? [], in: characteristic)
      }
    }
  }
}
