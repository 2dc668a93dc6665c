/// Encodes a capture file that Wireshark, btmon and ``CaptureReader`` read.
///
/// It does no I/O: it returns the octets of the header and of each record. ATT PDUs are wrapped as a
/// controller would see them: in L2CAP on channel 4 (Vol 3, Part A, 3.1), or in a K-frame on the channel of
/// an enhanced bearer (3.4), in ACL data (Vol 4, Part E, 5.4.2) after an H4 indicator (Vol 4, Part A, 2),
/// between the events that start and end a connection.
public struct CaptureWriter: Sendable {
  /// The file format.
  public enum Format: Sendable {
    /// btsnoop version 1, as Android and BlueZ write it.
    case btsnoop
    /// pcapng, as Wireshark writes it.
    case pcapng
  }

  /// The kind of records.
  public enum Content: Sendable {
    /// ATT PDUs in H4: btsnoop datalink 1002, or LINKTYPE_BLUETOOTH_HCI_H4_WITH_PHDR (201).
    case pdus
    /// Records of the kernel's monitor, as btmon writes them: btsnoop datalink 2001, or
    /// LINKTYPE_BLUETOOTH_LINUX_MONITOR (254).
    case monitor
  }

  /// Records that were dropped rather than written.
  public struct Dropped: Hashable, Sendable {
    /// All since the beginning, as btsnoop stores it in each record.
    public private(set) var total = 0
    /// Those since the last record, as pcapng stores it (epb_dropcount).
    public private(set) var recent = 0

    /// None.
    public init() {}

    init(total: Int) { self.total = total }

    /// Counts a record: one that is to be written after these, or one more of these.
    public mutating func count(isWritten: Bool) {
      if !isWritten { total += 1 }
      recent = isWritten ? 0 : recent + 1
    }
  }

  /// The extensions of file names that ``Format`` is chosen by.
  public static let extensions = ".btsnoop or .pcapng"
  /// The longest PDU, because the lengths of L2CAP and ACL data have 16 bits. The record of a longer
  /// PDU says that it was truncated.
  public static let longestPDU = 65531

  /// The file format.
  public let format: Format
  /// The kind of records.
  public let content: Content
  /// The program that writes the file, at most 65535 octets. pcapng names it (shb_userappl); btsnoop
  /// has no place for it.
  public var application = ""

  /// Creates a writer for one file.
  public init(_ format: Format, _ content: Content = .pdus) {
    self.format = format
    self.content = content
  }

  /// Chooses the format by the extension of a file name: `.btsnoop`, `.snoop` or `.pcapng`. Returns
  /// nil for any other name.
  public init?(path: String, _ content: Content = .pdus) {
    if path.hasSuffix(".btsnoop") || path.hasSuffix(".snoop") {
      self.init(.btsnoop, content)
    } else if path.hasSuffix(".pcapng") {
      self.init(.pcapng, content)
    } else {
      return nil
    }
  }

  /// The octets at the start of the file.
  public var header: [UInt8] {
    switch format {
    case .btsnoop: Self.btsnoopHeader(datalink: content == .pdus ? 1002 : 2001)
    case .pcapng:
      Self.section(application) + Self.interface(linkType: content == .pdus ? 201 : 254)
    }
  }

  /// Encodes a record of an ATT PDU.
  ///
  /// - Parameters:
  ///   - connection: the number of its ``WrittenConnection``.
  ///   - bearer: the number of the enhanced bearer, which was opened with
  ///     ``open(bearer:mtu:connection:microseconds:dropped:)``; 0 for the unenhanced one.
  ///   - microseconds: the time since 1970.
  ///   - dropped: the records that are missing before this one.
  public func record(
    pdu: [UInt8], isSent: Bool, connection: Int = 0, bearer: Int = 0, microseconds: Int64,
    dropped: Dropped = Dropped()
  ) -> [UInt8] {
    guard bearer > 0 else {
      let octets = pdu.prefix(Self.longestPDU)
      return acl(
        octets, channel: 4, isSent: isSent, connection: connection,
        missing: pdu.count - octets.count, microseconds: microseconds, dropped)
    }
    // The length of the SDU, which is one frame.
    let octets = pdu.prefix(Self.longestPDU - 2)
    return acl(
      Self.little(UInt16(octets.count)) + octets, channel: Self.channel(ofBearer: bearer),
      isSent: isSent, connection: connection, missing: pdu.count - octets.count,
      microseconds: microseconds, dropped)
  }

  /// Encodes a record of the kernel's monitor.
  ///
  /// - Parameters:
  ///   - kind: one of the kernel's HCI_MON_*.
  ///   - missing: how many octets were truncated.
  ///   - microseconds: the time since 1970.
  ///   - dropped: the records that are missing before this one.
  public func record(
    monitor kind: UInt16, adapter: UInt16, _ octets: [UInt8], missing: Int, microseconds: Int64,
    dropped: Dropped = Dropped()
  ) -> [UInt8] {
    record(
      octets, prefix: UInt32(adapter) << 16 | UInt32(kind), missing: missing,
      microseconds: microseconds, dropped)
  }

  /// - Parameters:
  ///   - prefix: btsnoop's flags. In pcapng the same four octets precede the data.
  ///   - comment: for which only pcapng has a place.
  func record(
    _ octets: [UInt8], prefix: UInt32, missing: Int, microseconds: Int64, _ dropped: Dropped,
    comment: String = ""
  ) -> [UInt8] {
    switch format {
    case .btsnoop:
      Self.btsnoopRecord(
        octets, flags: prefix, missing: missing, microseconds: microseconds, dropped: dropped.total)
    case .pcapng:
      Self.enhancedPacket(
        Self.big(prefix) + octets, missing: missing, units: microseconds, dropped: dropped.recent,
        comment: comment)
    }
  }
}

// MARK: - Encodings

extension CaptureWriter {
  static func btsnoopHeader(datalink: UInt32) -> [UInt8] {
    CaptureReader.btsnoopMagic + big(1) + big(datalink)
  }

  static func btsnoopRecord(
    _ octets: [UInt8], flags: UInt32, missing: Int, microseconds: Int64, dropped: Int = 0
  ) -> [UInt8] {
    let count = UInt32(octets.count)
    let time = UInt64(bitPattern: microseconds &+ CaptureReader.btsnoopEpoch)
    return big(count + UInt32(missing)) + big(count) + big(flags)
      + big(UInt32(clamping: dropped))
      + big(UInt32(time >> 32)) + big(UInt32(truncatingIfNeeded: time)) + octets
  }

  /// A section header of version 1.0 and unspecified length.
  static func section(_ application: String) -> [UInt8] {
    block(
      0x0A0D_0D0A,
      little(UInt32(0x1A2B_3C4D)) + [1, 0, 0, 0] + [UInt8](repeating: 0xFF, count: 8)
        // shb_userappl.
        + options([(4, Array(application.utf8.prefix(Int(UInt16.max))))]))
  }

  /// Options that are not empty, and their end; nothing if there are none.
  private static func options(_ options: [(code: UInt16, value: [UInt8])]) -> [UInt8] {
    var octets: [UInt8] = []
    for (code, value) in options where !value.isEmpty {
      octets += little(code) + little(UInt16(value.count))
      octets += value + padding(value.count)
    }
    return octets.isEmpty ? [] : octets + little(UInt32(0))
  }

  /// An interface description: no length limit, times in microseconds, which are the defaults.
  static func interface(linkType: UInt8) -> [UInt8] {
    block(1, [linkType, 0, 0, 0] + little(UInt32(0)))
  }

  static func enhancedPacket(
    _ octets: [UInt8], missing: Int, units: Int64, dropped: Int = 0, comment: String = ""
  ) -> [UInt8] {
    // opt_comment and epb_dropcount.
    let options = options([
      (1, Array(comment.utf8)), (4, dropped == 0 ? [] : little(UInt64(dropped))),
    ])
    let time = UInt64(bitPattern: units)
    let count = UInt32(octets.count)
    return block(
      6,
      little(UInt32(0)) + little(UInt32(time >> 32)) + little(UInt32(truncatingIfNeeded: time))
        + little(count) + little(count + UInt32(missing)) + octets
        + (options.isEmpty ? [] : padding(octets.count) + options))
  }

  /// Data and blocks end at a multiple of four octets.
  private static func padding(_ count: Int) -> [UInt8] {
    [UInt8](repeating: 0, count: (4 - count % 4) % 4)
  }

  static func block(_ type: UInt32, _ body: [UInt8]) -> [UInt8] {
    let padding = padding(body.count)
    let length = little(UInt32(body.count + padding.count + 12))
    return little(type) + length + body + padding + length
  }

  static func l2cap(_ payload: some Collection<UInt8>, channel: UInt16) -> [UInt8] {
    little(UInt16(payload.count)) + little(channel) + payload
  }

  /// ACL data that starts a PDU: boundary flag 00 from the host, not flushable, and 10 to it.
  static func acl(_ fragment: [UInt8], handle: UInt16, isSent: Bool) -> [UInt8] {
    little(handle | (isSent ? 0 : 0x2000)) + little(UInt16(fragment.count)) + fragment
  }

  static func big(_ number: UInt32) -> [UInt8] { little(number).reversed() }

  static func little<T: FixedWidthInteger>(_ number: T) -> [UInt8] {
    (0..<T.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }
}
