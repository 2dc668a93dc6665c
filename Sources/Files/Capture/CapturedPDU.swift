/// An attribute PDU that was found in a capture.
public struct CapturedPDU: Equatable, Sendable {
  /// The record in which it ended.
  public var record: Int
  /// Octets before that record in the file.
  public var offset: Int
  /// Nanoseconds since 1970; nil where the file gives none.
  public var time: Int64?
  /// The connection that carried it.
  public var connection: CapturedConnection
  /// Whether the host of the capture sent it or, at a sniffer, the central.
  public var isSent: Bool
  /// The channel of L2CAP; 4 is ATT's.
  public var channel: UInt16
  /// The whole PDU.
  public var octets: [UInt8]
  /// ATT_MTU as far as the capture tells: known from the connection's beginning or from an exchange.
  public var mtu: Int?
}

/// A connection of a capture.
public struct CapturedConnection: Hashable, Sendable {
  /// The number of the adapter: `hci0` is 0.
  public var adapter: UInt16
  /// The connection handle of HCI or, at a sniffer, the access address.
  public var handle: UInt32
  /// Handles are used again: 1 for the first connection of that handle, 2 for the next.
  public var incarnation: Int
  /// Whether ``handle`` is an access address.
  public var isOnAir: Bool
}

extension CapturedConnection: CustomStringConvertible {
  /// `0x0040`; `0x0040.2` for the second of that handle, `hci1/0x0040` where the adapter is not 0.
  public var description: String {
    let digits = String(handle, radix: 16, uppercase: true)
    let width = isOnAir ? 8 : 4
    return (adapter > 0 ? "hci\(adapter)/" : "") + "0x"
      + String(repeating: "0", count: max(0, width - digits.count)) + digits
      + (incarnation > 1 ? ".\(incarnation)" : "")
  }
}
