public import Links

/// Who is at the other end of the links of the kernel's controllers, as far as their events tell:
/// of links that began before, nothing.
public struct MonitoredPeers: Sendable {
  /// Links that are known at a time; with one more all others are forgotten.
  public static let limit = 4096

  private struct Place: Hashable {
    let adapter: UInt16
    let handle: UInt16
  }

  private var peers: [Place: BluetoothAddress] = [:]

  /// Nobody is known yet.
  public init() {}

  /// The other end of a link, by the number of its adapter and its connection handle; nil if it is
  /// not known.
  public subscript(adapter: UInt16, handle: UInt16) -> BluetoothAddress? {
    peers[Place(adapter: adapter, handle: handle)]
  }

  /// Learns from a record, if it is an event that tells of a link. Whatever else it is, it is passed
  /// over.
  public mutating func take(_ record: MonitorRecord) {
    let octets = record.octets
    switch record.kind {
    // HCI_MON_DEL_INDEX, HCI_MON_CLOSE_INDEX: its links are no more.
    case 1, 9: peers = peers.filter { $0.key.adapter != record.adapter }
    case 3: takeEvent(octets, record.adapter)
    default: break
    }
  }

  private mutating func takeEvent(_ octets: [UInt8], _ adapter: UInt16) {
    func place(_ index: Int) -> Place {
      Place(adapter: adapter, handle: UInt16(octets[index]) | UInt16(octets[index + 1] & 0x0F) << 8)
    }
    switch octets.first {
    // Disconnection Complete: status and handle. Vol 4, Part E, 7.7.5.
    case 0x05? where octets.count >= 5 && octets[2] == 0: peers[place(3)] = nil
    // LE Connection Complete, as it was and enhanced: status, handle, role, and the peer's address
    // behind its kind. Vol 4, Part E, 7.7.65.1 and 7.7.65.10.
    case 0x3E?
    where octets.count >= 14 && [0x01, 0x0A, 0x29].contains(octets[2]) && octets[3] == 0:
      // Identity addresses are numbered like the others, two higher.
      guard octets[7] < 4,
        let peer = BluetoothAddress(
          littleEndian: Array(octets[8..<14]), kind: octets[7] & 1 == 0 ? .public : .random)
      else { return }
      if peers.count >= Self.limit { peers = [:] }
      peers[place(4)] = peer
    default: break
    }
  }
}
