// Enhanced bearers, each on an L2CAP channel of its own.
//
// # Theory
// Which channel identifiers the two ends use, and which end opened the channel, is not known here. So they
// are made up, like the events of a connection: the first PDU of a bearer comes after a request of this
// end and a response. The identifier is the same at both ends, and follows from the bearer's number.
//
// Enhanced bearers are opened with L2CAP_CREDIT_BASED_CONNECTION_REQ at SPSM 0x0027. Wireshark 4.0 does not
// dissect this request, and so none of the PDUs on its channels. The frames of a channel of LE credit-based
// flow control are the same, so the file has LE Credit Based Connection Requests with the PSM of ATT,
// 0x001F, from which Wireshark knows that ATT follows. A comment says so.

extension CaptureWriter {
  /// Dynamic channel identifiers of LE, 0x0040 to 0x007F. Vol 3, Part A, 2.1.
  static let channels: ClosedRange<UInt16> = 0x40...0x7F

  static func channel(ofBearer number: Int) -> UInt16 {
    channels.lowerBound + UInt16((number - 1) % channels.count)
  }

  /// Encodes the opening of an enhanced bearer's channel. Vol 3, Part A, 4.22 and 4.23.
  ///
  /// - Parameters:
  ///   - bearer: its number, from 1. Of 65 bearers the last has the channel of the first.
  ///   - mtu: its MTU.
  ///   - connection: the number of its ``WrittenConnection``.
  ///   - microseconds: the time since 1970.
  ///   - dropped: the records that are missing before the record that follows, which states those of
  ///     pcapng.
  public func open(
    bearer: Int, mtu: Int, connection: Int, microseconds: Int64, dropped: Dropped
  ) -> [UInt8] {
    let channel = Self.little(Self.channel(ofBearer: bearer))
    let identifier = UInt8(truncatingIfNeeded: bearer - 1) % 255 + 1
    let mtu = UInt16(clamping: mtu)
    // MTU, MPS and credits.
    let limits = Self.little(mtu) + Self.little(min(mtu, .max - 2) + 2) + [0xFF, 0xFF]
    let request = Self.little(UInt16(0x1F)) + channel + limits
    let response = channel + limits + [0, 0]
    let comment =
      "enhanced bearer \(bearer), shown as a channel of LE credit-based flow control with the PSM of ATT"
    return [(UInt8(0x14), request, true), (0x15, response, false)].flatMap { code, body, isSent in
      acl(
        [code, identifier, 10, 0] + body, channel: 5, isSent: isSent, connection: connection,
        microseconds: microseconds, Dropped(total: dropped.total), comment: isSent ? comment : "")
    }
  }

  /// - Parameter payload: of an L2CAP PDU.
  func acl(
    _ payload: some Collection<UInt8>, channel: UInt16, isSent: Bool, connection: Int,
    missing: Int = 0, microseconds: Int64, _ dropped: Dropped, comment: String = ""
  ) -> [UInt8] {
    let handle = WrittenConnection.handle(connection)
    let hci =
      [0x02] + Self.acl(Self.l2cap(payload, channel: channel), handle: handle, isSent: isSent)
    return record(
      hci, prefix: isSent ? 0 : 1, missing: missing, microseconds: microseconds, dropped,
      comment: comment)
  }
}
