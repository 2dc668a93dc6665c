@testable import AttoFormats

/// Builds capture files. `CaptureWriter` encodes what it supports; the rest is other formats, the
/// other byte order, and options. `CaptureWriterTests` compares the writer with published examples,
/// so that reader and writer do not share a mistake.
enum CaptureBuilder {
  static func big16(_ number: Int) -> [UInt8] {
    [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
  }

  static func big32(_ number: Int) -> [UInt8] { big16(number >> 16) + big16(number) }
  static func little16(_ number: Int) -> [UInt8] { big16(number).reversed() }
  static func little32(_ number: Int) -> [UInt8] { big32(number).reversed() }

  /// A number in the octet order of a file.
  static func number(_ number: Int, isBig: Bool) -> [UInt8] {
    isBig ? big32(number) : little32(number)
  }

  // MARK: - btsnoop

  static func btsnoop(_ datalink: Int, _ records: [[UInt8]]) -> [UInt8] {
    CaptureWriter.btsnoopHeader(datalink: UInt32(datalink)) + records.flatMap { $0 }
  }

  /// - Parameter microseconds: since 1970.
  static func btsnoopRecord(
    _ octets: [UInt8], flags: Int, microseconds: Int = 0, missing: Int = 0
  ) -> [UInt8] {
    CaptureWriter.btsnoopRecord(
      octets, flags: UInt32(flags), missing: missing, microseconds: Int64(microseconds))
  }

  // MARK: - pcap

  static func pcap(
    _ linkType: Int, isBig: Bool = false, isFine: Bool = false, _ records: [[UInt8]]
  ) -> [UInt8] {
    number(isFine ? 0xA1B2_3C4D : 0xA1B2_C3D4, isBig: isBig)
      + (isBig ? [0, 2, 0, 4] : [2, 0, 4, 0]) + number(0, isBig: isBig) + number(0, isBig: isBig)
      + number(65535, isBig: isBig) + number(linkType, isBig: isBig) + records.flatMap { $0 }
  }

  static func pcapRecord(
    _ octets: [UInt8], isBig: Bool = false, seconds: Int = 0, fraction: Int = 0, missing: Int = 0
  ) -> [UInt8] {
    number(seconds, isBig: isBig) + number(fraction, isBig: isBig)
      + number(octets.count, isBig: isBig) + number(octets.count + missing, isBig: isBig) + octets
  }

  // MARK: - pcapng

  static func block(_ type: Int, _ body: [UInt8], isBig: Bool = false) -> [UInt8] {
    guard isBig else { return CaptureWriter.block(UInt32(type), body) }
    let padded = body + [UInt8](repeating: 0, count: (4 - body.count % 4) % 4)
    let length = big32(padded.count + 12)
    return big32(type) + length + padded + length
  }

  static func section(isBig: Bool = false) -> [UInt8] {
    block(
      0x0A0D_0D0A,
      number(0x1A2B_3C4D, isBig: isBig) + (isBig ? [0, 1, 0, 0] : [1, 0, 0, 0])
        + [UInt8](repeating: 0xFF, count: 8), isBig: isBig)
  }

  static func interface(
    _ linkType: Int, longest: Int = 0, options: [UInt8] = [], isBig: Bool = false
  ) -> [UInt8] {
    block(
      1,
      (isBig ? big16(linkType) : little16(linkType)) + [0, 0] + number(longest, isBig: isBig)
        + options, isBig: isBig)
  }

  static func option(_ code: Int, _ value: [UInt8], isBig: Bool = false) -> [UInt8] {
    let number = { isBig ? big16($0) : little16($0) }
    return number(code) + number(value.count) + value
      + [UInt8](repeating: 0, count: (4 - value.count % 4) % 4)
  }

  static func enhanced(
    _ octets: [UInt8], interface: Int = 0, units: Int = 0, missing: Int = 0,
    options: [UInt8] = [], isBig: Bool = false
  ) -> [UInt8] {
    let padding = [UInt8](repeating: 0, count: (4 - octets.count % 4) % 4)
    return block(
      6,
      [interface, units >> 32, units, octets.count, octets.count + missing]
        .flatMap { number($0, isBig: isBig) } + octets + padding + options, isBig: isBig)
  }

  // MARK: - hcidump

  static func hcidump(_ h4: [UInt8], isReceived: Bool, microseconds: Int = 0) -> [UInt8] {
    little16(h4.count) + [isReceived ? 1 : 0, 0] + little32(microseconds / 1_000_000)
      + little32(microseconds % 1_000_000) + h4
  }

  // MARK: - Contents of records

  /// An L2CAP PDU.
  static func l2cap(_ pdu: [UInt8], channel: Int = 4) -> [UInt8] {
    CaptureWriter.l2cap(pdu, channel: UInt16(channel))
  }

  /// ACL data of HCI.
  static func acl(_ fragment: [UInt8], handle: Int = 0x40, boundary: Int) -> [UInt8] {
    little16(handle | boundary << 12) + little16(fragment.count) + fragment
  }

  /// An unfragmented PDU in H4.
  static func h4(_ pdu: [UInt8], isSent: Bool, handle: Int = 0x40, channel: Int = 4) -> [UInt8] {
    [2] + acl(l2cap(pdu, channel: channel), handle: handle, boundary: isSent ? 0 : 2)
  }

  static func connected(_ handle: Int, enhanced: Bool = false) -> [UInt8] {
    let rest = [UInt8](repeating: 0, count: enhanced ? 27 : 15)
    let parameters = [enhanced ? 0x0A : 0x01, 0] + little16(handle) + rest
    return [0x3E, UInt8(parameters.count)] + parameters
  }

  static func disconnected(_ handle: Int) -> [UInt8] {
    [0x05, 4, 0] + little16(handle) + [0x13]
  }
}
