import AttoATT

/// An ATT PDU found in a capture.
public struct CapturedPDU: Equatable, Sendable {
  /// The record that holds the end of the PDU.
  public var record: Int
  /// The offset of that record in the file, in bytes.
  public var offset: Int
  /// Nanoseconds since 1970; nil if the file has no time.
  public var time: Int64?
  /// The connection that carried the PDU.
  public var connection: CapturedConnection
  /// Whether the capturing host sent the PDU; for a sniffer, whether the central did.
  public var isSent: Bool
  /// The L2CAP channel; 4 is ATT's.
  public var channel: UInt16
  /// The number of the enhanced bearer; 0 for the unenhanced one and for channels that are none.
  public var bearer = 0
  /// The whole PDU.
  public var octets: [UInt8]
  /// The bearer's ATT_MTU if the capture shows it, by the start of the connection or of the bearer, or an
  /// exchange.
  public var mtu: Int?
}

/// A connection in a capture.
public struct CapturedConnection: Hashable, Sendable {
  /// The index of the adapter: `hci0` is 0.
  public var adapter: UInt16
  /// The HCI connection handle; for a sniffer, the access address.
  public var handle: UInt32
  /// Which connection with this handle it is, from 1, because handles are reused.
  public var incarnation: Int
  /// Whether ``handle`` is an access address.
  public var isOnAir: Bool
}

extension CapturedConnection: CustomStringConvertible {
  /// `0x0040`; `0x0040.2` for the second connection with that handle; `hci1/0x0040` for an adapter
  /// other than 0.
  public var description: String {
    (adapter > 0 ? "hci\(adapter)/" : "") + "0x" + Hex.digits(handle, count: isOnAir ? 8 : 4)
      + (incarnation > 1 ? ".\(incarnation)" : "")
  }
}

/// Counts of what a capture holds, including everything that ``CaptureDecoder`` skips.
public struct CaptureCounts: Equatable, Sendable {
  /// All records.
  public var records = 0
  /// ATT PDUs.
  public var pdus = 0
  /// HCI commands and events.
  public var commandsAndEvents = 0
  /// Synchronous and isochronous data.
  public var streams = 0
  /// Records about the capture or the machine.
  public var notes = 0
  /// L2CAP PDUs on other channels, by channel.
  public var otherChannels: [UInt16: Int] = [:]
  /// Advertising, and link-layer PDUs that carry no L2CAP.
  public var linkLayer = 0
  /// Retransmitted link-layer PDUs.
  public var repetitions = 0
  /// Encrypted link-layer PDUs.
  public var encrypted = 0
  /// Records that the capture truncated or that arrived damaged.
  public var cut = 0
  /// Data with contradictory lengths.
  public var malformed = 0
  /// Continuation fragments whose start is not in the capture.
  public var withoutBeginning = 0
  /// L2CAP PDUs whose end is not in the capture.
  public var withoutEnd = 0
  /// Unsupported records, by kind.
  public var unknown: [String: Int] = [:]

  /// Counts of an empty capture.
  public init() {}
}
