internal import Atto
import Foundation

/// The peers that this process is connected to, and the services that any peer is known to have:
/// what `retrieveConnectedPeripherals(withServices:)` answers from, at once and on any thread.
enum ConnectedPeers {
  /// Peers whose services are remembered; beyond, the map is begun anew.
  static let peerLimit = 100_000
  /// Services that are remembered of one peer, whatever it advertises.
  static let serviceLimit = 256

  struct Peer {
    let identifier: UUID
    let address: BluetoothAddress
    let radio: CBRadio
  }

  struct Table {
    var connected: [UUID: Peer] = [:]
    private(set) var services: [UUID: Set<BluetoothUUID>] = [:]

    mutating func advertised(_ identifier: UUID, _ new: [BluetoothUUID]) {
      if services[identifier] == nil, services.count >= peerLimit { services = [:] }
      for service in new where services[identifier, default: []].count < serviceLimit {
        services[identifier, default: []].insert(service)
      }
    }
  }
  private static let table = Guarded(Table())

  static func connected(_ identifier: UUID, _ address: BluetoothAddress, _ radio: CBRadio) {
    table.withLock {
      $0.connected[identifier] = Peer(identifier: identifier, address: address, radio: radio)
    }
  }

  static func disconnected(_ identifier: UUID) {
    table.withLock { $0.connected[identifier] = nil }
  }

  static func advertised(_ identifier: UUID, _ services: [BluetoothUUID]) {
    guard !services.isEmpty else { return }
    table.withLock { $0.advertised(identifier, services) }
  }

  static func services(of identifier: UUID) -> Set<BluetoothUUID> {
    table.withLock { $0.services[identifier] ?? [] }
  }

  static func list(_ radio: CBRadio, having services: [BluetoothUUID]) -> [Peer] {
    table.withLock { table in
      table.connected.values.filter { peer in
        peer.radio == radio
          && !(table.services[peer.identifier] ?? []).isDisjoint(with: services)
      }
    }
  }
}
