/// One datagram of the kernel's monitor: what passed between the kernel and a controller, or what
/// happened to adapters and their users.
public struct MonitorRecord: Equatable, Sendable {
  /// What it is (HCI_MON_*): 2 is a command, 3 an event, 4 and 5 are ACL data sent and received.
  public var kind: UInt16
  /// The number of the adapter: `hci0` is 0. 0xFFFF (HCI_DEV_NONE) for what belongs to none.
  public var adapter: UInt16
  /// What follows the header; at most ``longestContent`` octets of it.
  public var octets: [UInt8]
  /// Octets behind these that were not received.
  public var missing: Int
  /// When the kernel saw it, in microseconds since 1970.
  public var time: Int64

  /// Octets of a record that are received: what the header's length can say.
  public static let longestContent = 65_535
  /// struct hci_mon_hdr: kind, adapter, length.
  static let headerLength = 6

  /// One with these values.
  public init(kind: UInt16, adapter: UInt16, octets: [UInt8], missing: Int = 0, time: Int64) {
    self.kind = kind
    self.adapter = adapter
    self.octets = octets
    self.missing = missing
    self.time = time
  }

  /// Reads a datagram; nil if it is shorter than its header. The length that the header says must be
  /// the datagram's: what it lacks counts as missing, what is beyond it is left out.
  ///
  /// - Parameter length: the datagram's own, of which `datagram` may be the beginning.
  init?(_ datagram: ArraySlice<UInt8>, length: Int, time: Int64) {
    guard datagram.count >= Self.headerLength, length >= datagram.count else { return nil }
    var reader = ManagementReader(Array(datagram.prefix(Self.headerLength)))
    kind = reader.integer()
    adapter = reader.integer()
    let stated: UInt16 = reader.integer()
    octets = Array(datagram.dropFirst(Self.headerLength).prefix(Int(stated)))
    missing = Int(stated) - octets.count
    self.time = time
  }
}
