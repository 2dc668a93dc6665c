internal import Atto
import Foundation

/// Known peers by identifier, for `retrievePeripherals(withIdentifiers:)` and
/// `retrieveConnectedPeripherals(withServices:)`.
///
/// Peers that this process has received are in memory. Those that were connected are also on disk,
/// the last 1000 of them, for all processes of the user.
enum KnownPeers {
  /// The saved form.
  struct Peer: Codable, Equatable, Sendable {
    var address: String
    var name: String?
  }

  /// Peers in memory; when there are more, all are forgotten.
  static let memoryLimit = 100_000
  /// Remembered services of one peer, whatever it advertises.
  static let serviceLimit = 256

  struct Table {
    struct Entry {
      var peer: Peer
      /// The signal strength of the last advertisement, in dBm.
      var rssi: Int?
      var services: Set<BluetoothUUID> = []
    }

    private(set) var met: [UUID: Entry] = [:]
    var connected: [UUID: (address: BluetoothAddress, radio: CBRadio)] = [:]

    mutating func met(_ identifier: UUID, _ address: String, name: String?, rssi: Int?) {
      if met[identifier] == nil, met.count >= memoryLimit { met = [:] }
      var entry = met[identifier] ?? Entry(peer: Peer(address: address))
      entry.peer = Peer(address: address, name: name ?? entry.peer.name)
      entry.rssi = rssi ?? entry.rssi
      met[identifier] = entry
    }

    /// Adds services that a peer has advertised, or that were discovered in it.
    mutating func add(_ services: [BluetoothUUID], of identifier: UUID) {
      for service in services where (met[identifier]?.services.count ?? 0) < serviceLimit {
        met[identifier]?.services.insert(service)
      }
    }
  }
  private static let table = Locked(Table())

  private static func key(_ identifier: UUID) -> SavedState.Key {
    SavedState.Key(kind: .peer, name: identifier.uuidString)
  }

  private static func entry(_ identifier: UUID) -> Table.Entry? {
    table.withLock { $0.met[identifier] }
  }

  /// Finds a peer in memory, then on disk. May block; not for the loop.
  static func peer(_ identifier: UUID) -> Peer? {
    if let entry = entry(identifier) { return entry.peer }
    return SavedState.shared.read(key(identifier)).flatMap {
      try? JSONDecoder().decode(Peer.self, from: $0)
    }
  }

  // These are about peers in memory.

  static func name(of identifier: UUID) -> String? { entry(identifier)?.peer.name }

  static func rssi(of identifier: UUID) -> Int? { entry(identifier)?.rssi }

  static func services(of identifier: UUID) -> Set<BluetoothUUID> {
    entry(identifier)?.services ?? []
  }

  static func met(
    _ identifier: UUID, _ address: BluetoothAddress, name: String?, rssi: Int? = nil,
    services: [BluetoothUUID] = []
  ) {
    table.withLock { table in
      table.met(identifier, "\(address)", name: name, rssi: rssi)
      table.add(services, of: identifier)
    }
  }

  static func add(_ services: [BluetoothUUID], of identifier: UUID) {
    table.withLock { $0.add(services, of: identifier) }
  }

  /// Saves a peer on disk.
  static func save(_ identifier: UUID) {
    guard let entry = entry(identifier), let data = try? JSONEncoder().encode(entry.peer) else {
      return
    }
    SavedState.shared.write(data, to: key(identifier))
  }

  // MARK: Connections of this process

  static func connected(_ identifier: UUID, _ address: BluetoothAddress, _ radio: CBRadio) {
    table.withLock { $0.connected[identifier] = (address, radio) }
  }

  static func disconnected(_ identifier: UUID) {
    table.withLock { $0.connected[identifier] = nil }
  }

  /// The connected peers with one of these services.
  static func connected(
    on radio: CBRadio, having services: [BluetoothUUID]
  ) -> [UUID: BluetoothAddress] {
    table.withLock { table in
      table.connected.filter { identifier, peer in
        peer.radio == radio
          && table.met[identifier]?.services.isDisjoint(with: services) == false
      }.mapValues(\.address)
    }
  }
}
