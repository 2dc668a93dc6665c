internal import Atto
import Foundation

/// Peers that were met, by identifier: what `retrievePeripherals(withIdentifiers:)` finds.
///
/// All that this process has met are in memory; those that were connected are on disk too, the
/// last ``diskLimit`` of them, for all processes of the user.
enum KnownPeers {
  struct Peer: Codable, Equatable, Sendable {
    var address: String
    var name: String?
  }

  static let diskLimit = 1000
  /// Peers that are only in memory; beyond, the map is begun anew.
  static let memoryLimit = 100_000
  private static let file = "peers.json"
  private struct Table {
    var met: [UUID: Peer] = [:]
    var rssi: [UUID: Int] = [:]
  }
  private static let table = Guarded(Table())

  static func address(of identifier: UUID) -> BluetoothAddress? {
    peer(identifier).flatMap { BluetoothAddress($0.address) }
  }

  static func peer(_ identifier: UUID) -> Peer? {
    if let peer = table.withLock({ $0.met[identifier] }) { return peer }
    return onDisk().first { $0.identifier == identifier }?.peer
  }

  /// What was last received of it in dBm.
  static func rssi(of identifier: UUID) -> Int? { table.withLock { $0.rssi[identifier] } }

  static func met(
    _ identifier: UUID, _ address: BluetoothAddress, name: String?, rssi: Int? = nil
  ) {
    table.withLock { table in
      if table.met.count >= memoryLimit { table = Table() }
      let known = table.met[identifier]?.name
      table.met[identifier] = Peer(address: "\(address)", name: name ?? known)
      if let rssi { table.rssi[identifier] = rssi }
    }
  }

  /// Keeps a peer on disk, last in the list.
  static func remember(_ identifier: UUID) {
    guard let peer = table.withLock({ $0.met[identifier] }) else { return }
    var entries = onDisk()
    if entries.last?.identifier == identifier, entries.last?.peer == peer { return }
    entries.removeAll { $0.identifier == identifier }
    entries.append(Entry(identifier: identifier, peer: peer))
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    if let data = try? encoder.encode(Array(entries.suffix(diskLimit))) {
      StateFolder.write(data, to: file)
    }
  }

  private struct Entry: Codable {
    var identifier: UUID
    var peer: Peer
  }

  /// A file that is damaged counts as empty, and is replaced with the next peer.
  private static func onDisk() -> [Entry] {
    guard let data = StateFolder.read(file) else { return [] }
    return (try? JSONDecoder().decode([Entry].self, from: data)) ?? []
  }
}
