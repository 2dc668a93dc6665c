import AttoRadio

/// A datagram of the kernel's monitor: HCI traffic, or an event of an adapter or its users.
public struct MonitorRecord: Equatable, Sendable {
  /// The kind (HCI_MON_*): 2 is a command, 3 an event, 4 and 5 are ACL data sent and received.
  public var kind: UInt16
  /// The number of the adapter: `hci0` is 0. 0xFFFF (HCI_DEV_NONE) for records of none.
  public var adapter: UInt16
  /// The content after the header, at most ``longestContent`` octets.
  public var octets: [UInt8]
  /// The number of further octets, which were not received.
  public var missing = 0
  /// The time of the record in microseconds since 1970.
  public var time: Int64

  /// Octets of a record that are received: the largest length of the header.
  public static let longestContent = 65_535
  /// struct hci_mon_hdr: kind, adapter, length.
  static let headerLength = 6
}

extension MonitorRecord {
  /// Reads a datagram; nil if it is shorter than its header. Octets that the header counts and the
  /// datagram lacks are missing; further octets are ignored.
  ///
  /// - Parameter length: the length of the datagram, of which `datagram` may be the beginning.
  init?(_ datagram: ArraySlice<UInt8>, length: Int, time: Int64) {
    guard datagram.count >= Self.headerLength, length >= datagram.count else { return nil }
    let header = Array(datagram.prefix(Self.headerLength))
    kind = UInt16(octets: header[0..<2])
    adapter = UInt16(octets: header[2..<4])
    let stated = UInt16(octets: header[4..<6])
    octets = Array(datagram.dropFirst(Self.headerLength).prefix(Int(stated)))
    missing = Int(stated) - octets.count
    self.time = time
  }
}
