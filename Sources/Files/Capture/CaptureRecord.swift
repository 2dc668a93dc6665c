/// One record of a capture file.
public struct CaptureRecord: Equatable, Sendable {
  /// Counted from 1, as other tools count frames.
  public var number: Int
  /// Octets before it in the file.
  public var offset: Int
  /// Nanoseconds since 1970; nil where the file gives none, or one beyond what 64 bits hold.
  public var time: Int64?
  /// What was captured.
  public var content: Content

  /// What a record holds.
  public enum Content: Equatable, Sendable {
    /// What went between host and controller.
    case hci(HCI)
    /// What went over the air, as a sniffer has seen it.
    case radio(Radio)
    /// What tells of the capture or the machine, and carries no data: an adapter that came, a log.
    case note
    /// A record of this kind is not understood.
    case unknown(String)
  }

  /// What went between host and controller. Vol 4, Part E, 5.4.
  public struct HCI: Equatable, Sendable {
    /// The indicator of H4. Vol 4, Part A, 2.
    public enum Kind: UInt8, Sendable {
      /// From the host.
      case command = 1
      /// ACL data, either way.
      case acl
      /// Synchronous data, either way.
      case synchronous
      /// From the controller.
      case event
      /// Isochronous data, either way.
      case isochronous
    }

    /// Which of the five it is.
    public var kind: Kind
    /// Whether the host sent it; nil where the file does not say.
    public var isSent: Bool?
    /// The number of the adapter: `hci0` is 0.
    public var adapter: UInt16
    /// What follows the indicator.
    public var octets: [UInt8]
    /// Whether there was more of it, which the capture left out.
    public var isCut: Bool
  }

  /// A PDU of the link layer. Vol 6, Part B, 2.1.
  public struct Radio: Equatable, Sendable {
    /// The access address of advertising. Vol 6, Part B, 2.1.2.
    public static let advertising: UInt32 = 0x8E89_BED6

    /// Which connection it belongs to, or ``advertising``.
    public var accessAddress: UInt32
    /// Whether the central sent it; nil where the file does not say.
    public var isFromCentral: Bool?
    /// The two octets of its header and what follows, without CRC.
    public var octets: [UInt8]
    /// Whether it is whole: its CRC was right or was not looked at, and nothing was left out.
    public var isWhole: Bool
    /// Whether it is encrypted.
    public var isEncrypted: Bool
  }
}
