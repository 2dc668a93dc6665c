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
  struct Table {
    private(set) var met: [UUID: Peer] = [:]
    private(set) var rssi: [UUID: Int] = [:]

    mutating func met(_ identifier: UUID, _ address: String, name: String?, rssi: Int?) {
      if met[identifier] == nil, met.count >= memoryLimit { self = Table() }
      met[identifier] = Peer(address: address, name: name ?? met[identifier]?.name)
      if let rssi { self.rssi[identifier] = rssi }
    }
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
    table.withLock { $0.met(identifier, "\(address)", name: name, rssi: rssi) }
  }

  /// Keeps a peer on disk, last in the list.
  static func remember(_ identifier: UUID) {
    guard let peer = table.withLock({ $0.met[identifier] }) else { return }
    let former = onDisk()
    let entries = entries(former, with: Entry(identifier: identifier, peer: peer))
    if entries == former { return }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    if let data = try? encoder.encode(entries) {
      StateFolder.write(data, to: file)
    }
  }

  struct Entry: Codable, Equatable {
    var identifier: UUID
    var peer: Peer
  }

  /// A list with one more at its end, where it was not there; the first goes where there is no
  /// room.
  static func entries(_ former: [Entry], with new: Entry) -> [Entry] {
    (former.filter { $0.identifier != new.identifier } + [new]).suffix(diskLimit)
  }

  /// A file that is damaged counts as empty, and is replaced with the next peer.
  private static func onDisk() -> [Entry] {
    guard let data = StateFolder.read(file) else { return [] }
    return (try? JSONDecoder().decode([Entry].self, from: data)) ?? []
  }
}
