import AttoHCI
public import AttoLinks

/// The peers of the links of the kernel's controllers, from HCI events. Peers of links that were made
/// before are not known.
public struct MonitoredPeers: Sendable {
  /// Links that are stored. With one more all others are forgotten.
  public static let limit = 4096

  private struct Place: Hashable {
    let adapter: UInt16
    let handle: UInt16
  }

  private var peers: [Place: BluetoothAddress] = [:]

  /// No peers yet.
  public init() {}

  /// The peer of a link, by the number of its adapter and its connection handle; nil if it is not
  /// known.
  public subscript(adapter: UInt16, handle: UInt16) -> BluetoothAddress? {
    peers[Place(adapter: adapter, handle: handle)]
  }

  /// Reads a record, if it is an event about a link. Others are ignored.
  public mutating func read(_ record: MonitorRecord) {
    let octets = record.octets
    switch record.kind {
    // HCI_MON_DEL_INDEX, HCI_MON_CLOSE_INDEX: all links of the adapter have ended.
    case 1, 9: peers = peers.filter { $0.key.adapter != record.adapter }
    case 3: readEvent(octets, record.adapter)
    default: break
    }
  }

  private mutating func readEvent(_ octets: [UInt8], _ adapter: UInt16) {
    switch HCIEvent(octets[...]) {
    case .disconnectionComplete(let handle): peers[Place(adapter: adapter, handle: handle)] = nil
    case .connectionComplete(let handle, let peer?, _):
      if peers.count >= Self.limit { peers = [:] }
      peers[Place(adapter: adapter, handle: handle)] = BluetoothAddress(
        peer.address, kind: peer.isRandom ? .random : .public)
    default: break
    }
  }
}
