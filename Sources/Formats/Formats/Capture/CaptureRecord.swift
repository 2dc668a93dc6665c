/// One record of a capture file.
public struct CaptureRecord: Equatable, Sendable {
  /// The number of the record, from 1, as other tools number frames.
  public var number: Int
  /// The offset of the record in the file, in bytes.
  public var offset: Int
  /// Nanoseconds since 1970; nil if the file has no time or one that does not fit 64 bits.
  public var time: Int64?
  /// The captured data.
  public var content: Content

  /// The content of a record.
  public enum Content: Equatable, Sendable {
    /// A packet between host and controller.
    case hci(HCI)
    /// A link-layer PDU captured by a sniffer.
    case radio(Radio)
    /// A record about the capture or the machine that carries no data, such as a new adapter.
    case note
    /// A record of an unsupported kind, with a description of the kind.
    case unknown(String)
  }

  /// A packet between host and controller. Vol 4, Part E, 5.4.
  public struct HCI: Equatable, Sendable {
    /// The packet type, with the value of the H4 indicator. Vol 4, Part A, 2.
    public enum Kind: UInt8, Sendable {
      /// A command from the host.
      case command = 1
      /// ACL data in either direction.
      case acl
      /// Synchronous data in either direction.
      case synchronous
      /// An event from the controller.
      case event
      /// Isochronous data in either direction.
      case isochronous
    }

    /// The packet type.
    public var kind: Kind
    /// Whether the host sent the packet; nil if the file does not say.
    public var isSent: Bool?
    /// The index of the adapter: `hci0` is 0.
    public var adapter: UInt16
    /// The octets after the H4 indicator.
    public var octets: [UInt8]
    /// Whether the capture omitted the end of the packet.
    public var isCut: Bool
  }

  /// A link-layer PDU. Vol 6, Part B, 2.1.
  public struct Radio: Equatable, Sendable {
    /// The access address of advertising channels. Vol 6, Part B, 2.1.2.
    public static let advertising: UInt32 = 0x8E89_BED6

    /// The access address of the connection, or ``advertising``.
    public var accessAddress: UInt32
    /// Whether the central sent the PDU; nil if the file does not say.
    public var isFromCentral: Bool?
    /// The two octets of the header and the payload, without the CRC.
    public var octets: [UInt8]
    /// Whether nothing is missing, and the CRC was correct or not checked.
    public var isWhole: Bool
    /// Whether the PDU is encrypted.
    public var isEncrypted: Bool
  }
}

extension CaptureRecord {
  /// A record that comes directly from the kernel's monitor.
  ///
  /// - Parameters:
  ///   - kind: HCI_MON_*: 3 is an event, 4 and 5 are sent and received ACL data.
  ///   - octets: the octets after the monitor's header.
  ///   - isCut: whether the end is missing.
  ///   - number: the number of the record, from 1.
  ///   - time: microseconds since 1970.
  public init(
    monitor kind: UInt16, adapter: UInt16, octets: [UInt8], isCut: Bool, number: Int, time: Int64
  ) {
    let (nanoseconds, overflows) = time.multipliedReportingOverflow(by: 1000)
    let flags = CaptureFlags(word: UInt32(adapter) << 16 | UInt32(kind), isCut: isCut)
    self.init(
      number: number, offset: 0, time: overflows ? nil : nanoseconds,
      content: CaptureLinkType.monitor.content(octets, flags))
  }
}
