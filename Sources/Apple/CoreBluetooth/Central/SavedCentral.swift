internal import Atto
import AttoGATT
import Foundation

/// The saved state of a central manager: its scan and its peripherals with their subscriptions.
struct SavedCentral: Codable, Sendable {
  struct Scan: Codable, Sendable {
    var services: [String]
    var solicited: [String]
    var allowsDuplicates: Bool

    init(_ request: ScanRequest) {
      services = request.services.map(\.fullDescription)
      solicited = request.solicited.map(\.fullDescription)
      allowsDuplicates = request.allowsDuplicates
    }
  }

  struct Peer: Codable, Sendable {
    var identifier: UUID
    var address: String
    var name: String?
    var reconnects: Bool
    var subscriptions: [SavedSubscription]
  }

  var scan: Scan?
  var peers: [Peer] = []
}

/// A saved subscription, with the handles of its service and characteristic.
struct SavedSubscription: Codable, Sendable {
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
    handle = found.declarationHandle.rawValue
    valueHandle = found.valueHandle.rawValue
    endHandle = found.endGroupHandle.rawValue
  }

  var range: HandleRange? {
    HandleRange(AttributeHandle(serviceStart), AttributeHandle(serviceEnd))
  }

  /// The characteristic; nil if the saved values make none.
  var characteristic: Characteristic? {
    guard let uuid = BluetoothUUID(uuid), handle > 0, valueHandle > handle,
      endHandle >= valueHandle
    else { return nil }
    return Characteristic(
      declarationHandle: AttributeHandle(handle), valueHandle: AttributeHandle(valueHandle),
      endGroupHandle: AttributeHandle(endHandle),
      properties: CharacteristicProperties(rawValue: properties), uuid: uuid)
  }
}

extension CBPeripheral {
  /// Creates the services and characteristics of the saved subscriptions.
  func restore(_ subscriptions: [SavedSubscription]) {
    var services: [CBService] = []
    for saved in subscriptions {
      guard let range = saved.range, let found = saved.characteristic,
        let type = BluetoothUUID(saved.service)
      else { continue }
      let service: CBService
      if let known = services.first(where: { $0.range == range }) {
        service = known
      } else {
        service = CBService(
          type: CBUUID(type), isPrimary: saved.isPrimary, range: range, peripheral: self)
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
  /// Reports the saved state to the app, then resumes it. On the app's queue.
  func restore(_ saved: SavedCentral) {
    var dictionary: [String: Any] = [:]
    var peripherals: [CBPeripheral] = []
    var connections: [(RemotePeripheral, reconnects: Bool, [SavedSubscription])] = []
    for peer in saved.peers {
      guard let address = BluetoothAddress(peer.address) else { continue }
      KnownPeers.met(peer.identifier, address, name: peer.name)
      let peripheral = peripheral(peer.identifier, address, name: peer.name)
      peripheral.restore(peer.subscriptions)
      peripherals.append(peripheral)
      connections.append((peripheral.remote, peer.reconnects, peer.subscriptions))
    }
    if !peripherals.isEmpty {
      dictionary[CBCentralManagerRestoredStatePeripheralsKey] = peripherals
    }
    var request: ScanRequest?
    if let scan = saved.scan {
      let number = own.withLock { $0.beginScan() }
      let services = scan.services.compactMap { BluetoothUUID($0) }
      let solicited = scan.solicited.compactMap { BluetoothUUID($0) }
      request = ScanRequest(
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
    let carried = UncheckedBox(connections)
    RadioLoop.later { [engine, request] in engine.resume(carried.content, request) }
  }
}
