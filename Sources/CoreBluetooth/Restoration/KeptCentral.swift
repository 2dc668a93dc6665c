internal import Atto
import Foundation

/// What a central manager keeps: its scan, and the peers that it has or wants, with their
/// subscriptions.
struct KeptCentral: Codable, Sendable {
  struct Scan: Codable, Sendable {
    var services: [String]
    var solicited: [String]
    var allowsDuplicates: Bool
  }

  struct Peer: Codable, Sendable {
    var identifier: UUID
    var address: String
    var name: String?
    var reconnects: Bool
    var subscriptions: [KeptSubscription]
  }

  var scan: Scan?
  var peers: [Peer] = []
}

/// A subscription, with the places in the peer's database that it hangs on.
struct KeptSubscription: Codable, Sendable {
  var service: String
  var isPrimary: Bool
  var serviceStart: UInt16
  var serviceEnd: UInt16
  var uuid: String
  var properties: UInt8
  var handle: UInt16
  var valueHandle: UInt16
  var endHandle: UInt16

  init?(_ found: Characteristic, in service: CBService?) {
    guard let service, let range = service.range else { return nil }
    self.service = service.uuid.uuidString
    isPrimary = service.isPrimary
    serviceStart = range.start.rawValue
    serviceEnd = range.end.rawValue
    uuid = found.uuid.fullDescription
    properties = found.properties.rawValue
    handle = found.handle.rawValue
    valueHandle = found.valueHandle.rawValue
    endHandle = found.endGroupHandle.rawValue
  }

  var range: HandleRange? {
    HandleRange(AttributeHandle(serviceStart), AttributeHandle(serviceEnd))
  }

  /// The characteristic; nil if the file was tampered with.
  var characteristic: Characteristic? {
    guard let uuid = BluetoothUUID(uuid), handle > 0, valueHandle > handle,
      endHandle >= valueHandle
    else { return nil }
    return Characteristic(
      handle: AttributeHandle(handle), valueHandle: AttributeHandle(valueHandle),
      endGroupHandle: AttributeHandle(endHandle),
      properties: CharacteristicProperties(rawValue: properties), uuid: uuid)
  }
}

extension CBPeripheral {
  /// Builds what is needed of the peer's services for the subscriptions that were kept.
  func restore(_ subscriptions: [KeptSubscription]) {
    var services: [CBService] = []
    for kept in subscriptions {
      guard let range = kept.range, let found = kept.characteristic,
        let type = BluetoothUUID(kept.service)
      else { continue }
      let service: CBService
      if let known = services.first(where: { $0.range == range }) {
        service = known
      } else {
        service = CBService(
          type: CBUUID(type), isPrimary: kept.isPrimary, range: range, peripheral: self)
        services.append(service)
      }
      let characteristic = CBCharacteristic(
        type: CBUUID(found.uuid),
        properties: CBCharacteristicProperties(rawValue: UInt(found.properties.rawValue)),
        found: found, service: service)
      characteristic.state.withLock { $0.isNotifying = true }
      service.contents.value = (service.contents.value ?? []) + [characteristic]
    }
    shown.withLock { shown in
      shown.state = .connecting
      shown.services = services.isEmpty ? nil : services
    }
  }
}

extension CBCentralManager {
  /// Tells the app what was kept, and then goes on where the former run ended. On the queue.
  func restore(_ kept: KeptCentral) {
    var dictionary: [String: Any] = [:]
    var peripherals: [CBPeripheral] = []
    var wishes: [(RemotePeripheral, Bool, [KeptSubscription])] = []
    for peer in kept.peers {
      guard let address = BluetoothAddress(peer.address) else { continue }
      let peripheral = peripheral(peer.identifier, address, name: peer.name)
      peripheral.restore(peer.subscriptions)
      peripherals.append(peripheral)
      wishes.append((peripheral.remote, peer.reconnects, peer.subscriptions))
    }
    if !peripherals.isEmpty {
      dictionary[CBCentralManagerRestoredStatePeripheralsKey] = peripherals
    }
    var wish: ScanWish?
    if let scan = kept.scan {
      let number = own.withLock { $0.beginScan() }
      let services = scan.services.compactMap { BluetoothUUID($0) }
      let solicited = scan.solicited.compactMap { BluetoothUUID($0) }
      wish = ScanWish(
        number: number, services: services, solicited: solicited,
        allowsDuplicates: scan.allowsDuplicates)
      dictionary[CBCentralManagerRestoredStateScanServicesKey] = services.map { CBUUID($0) }
      var options: [String: Any] = [
        CBCentralManagerScanOptionAllowDuplicatesKey: NSNumber(value: scan.allowsDuplicates)
      ]
      if !solicited.isEmpty {
        options[CBCentralManagerScanOptionSolicitedServiceUUIDsKey] = solicited.map { CBUUID($0) }
      }
      dictionary[CBCentralManagerRestoredStateScanOptionsKey] = options
    }
    delegate?.centralManager(self, willRestoreState: dictionary)
    let (engine, carried) = (engine, Carried(wishes))
    RadioLoop.later { engine.resume(carried.content, wish) }
  }
}
