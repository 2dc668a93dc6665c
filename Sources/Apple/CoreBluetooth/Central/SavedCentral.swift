internal import Atto
import Foundation

/// The saved state of a central manager: its scan, and its peripherals with their services.
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
    /// nil: not discovered.
    var services: [SavedRemoteService]?
  }

  var scan: Scan?
  var peers: [Peer] = []
}

extension CBCentralManager {
  /// Reports the saved state to the delegate, then resumes it. On the app's queue.
  func restore(_ saved: SavedCentral, _ delegate: AnyObject) {
    var dictionary: [String: Any] = [:]
    var peripherals: [CBPeripheral] = []
    var connections: [(RemotePeripheral, SavedCentral.Peer)] = []
    for peer in saved.peers {
      guard let address = BluetoothAddress(peer.address) else { continue }
      KnownPeers.met(peer.identifier, address, name: peer.name)
      let peripheral = peripheral(peer.identifier, address, name: peer.name)
      peripheral.restore(peer.services)
      peripherals.append(peripheral)
      connections.append((peripheral.remote, peer))
    }
    if !peripherals.isEmpty {
      dictionary[CBCentralManagerRestoredStatePeripheralsKey] = peripherals
    }
    var request: ScanRequest?
    if let scan = saved.scan {
      let number = own.withLock { $0.beginScan() }
      observers.check()
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
    (delegate as? any CBCentralManagerDelegate)?
      .centralManager(self, willRestoreState: dictionary)
    let carried = UncheckedBox(connections)
    RadioLoop.later { [engine, request] in engine.resume(carried.content, request) }
  }
}
