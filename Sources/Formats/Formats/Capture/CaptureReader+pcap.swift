// pcap: a header of 24 bytes, then records, in the byte order of the machine that wrote them.
// hcidump's own format, which has no header.

extension CaptureReader {
  /// The byte order, and the unit of a record's fraction of a second in nanoseconds.
  static func pcapMagic(_ prefix: [UInt8]) -> (isBig: Bool, nanoseconds: Int64)? {
    guard prefix.count >= 4 else { return nil }
    return switch prefix.number32(at: 0, isBig: true) {
    case 0xA1B2_C3D4: (true, 1000)
    case 0xD4C3_B2A1: (false, 1000)
    case 0xA1B2_3C4D: (true, 1)
    case 0x4D3C_B2A1: (false, 1)
    default: nil
    }
  }

  mutating func pcapHeader() throws(CaptureFault) -> Layout {
    guard let (isBig, unit) = Self.pcapMagic(Array(buffer.prefix(4))) else {
      throw fault("the file is not pcap")
    }
    // The upper half holds checksum flags of other link types.
    let number = buffer.number32(at: 20, isBig: isBig) & 0xFFFF
    guard let type = CaptureLinkType(linkType: number) else {
      throw fault(
        "unsupported link type \(number), expected 187, 201 (H4), 254 (Linux monitor), 256 or 272 "
          + "(sniffers)")
    }
    buffer.drop(24)
    return .pcap(type, isBig: isBig, nanoseconds: unit)
  }

  mutating func pcap(
    _ type: CaptureLinkType, _ isBig: Bool, _ unit: Int64
  ) throws(CaptureFault) -> CaptureRecord? {
    if buffer.count == 0 { return nil }
    guard has(16, of: "the record's header") else { return nil }
    let included = buffer.number32(at: 8, isBig: isBig)
    try check(length: included)
    let length = Int(included)
    guard has(16 + length, of: "the record") else { return nil }
    // Both are numbers of 32 bits, so the products fit 64.
    let seconds = Int64(buffer.number32(at: 0, isBig: isBig))
    let fraction = Int64(buffer.number32(at: 4, isBig: isBig))
    let original = buffer.number32(at: 12, isBig: isBig)
    return record(
      header: 16, length: length, time: seconds * 1_000_000_000 + fraction * unit, type,
      CaptureFlags(isCut: included < original))
  }

  // MARK: - hcidump

  /// Each record has a length (2 bytes), whether it was received (1), zero (1), seconds (4) and
  /// microseconds (4), all little-endian, then an H4 packet.
  static func looksLikeHCIDump(_ prefix: [UInt8]) -> Bool {
    prefix.count >= 13 && prefix.number16(at: 0, isBig: false) > 0 && prefix[2] <= 1
      && prefix[3] == 0 && prefix.number32(at: 8, isBig: false) < 1_000_000
      && (1...5).contains(prefix[12])
  }

  mutating func hcidump() throws(CaptureFault) -> CaptureRecord? {
    if buffer.count == 0 { return nil }
    guard has(12, of: "the record's header") else { return nil }
    guard buffer[2] <= 1, buffer[3] == 0 else {
      throw fault("invalid hcidump record: expected a third byte of 0 or 1 and a fourth of 0")
    }
    let length = Int(buffer[0]) | Int(buffer[1]) << 8
    guard has(12 + length, of: "the record") else { return nil }
    let seconds = Int64(buffer.number32(at: 4, isBig: false))
    let microseconds = Int64(buffer.number32(at: 8, isBig: false))
    return record(
      header: 12, length: length, time: seconds * 1_000_000_000 + microseconds * 1000, .h4,
      CaptureFlags(isSent: buffer[2] == 0, isCut: false))
  }
}
