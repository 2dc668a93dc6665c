// btsnoop: a header of 16 bytes, then records. All numbers are big-endian.

extension CaptureReader {
  static let btsnoopMagic = Array("btsnoop\0".utf8)

  /// Microseconds from the year 0, the epoch of btsnoop, to 1970.
  static let btsnoopEpoch: Int64 = 0x00DC_DDB3_0F2F_8000

  mutating func btsnoopHeader() throws(CaptureFault) -> CaptureLinkType {
    let version = buffer.number32(at: 8, isBig: true)
    guard version == 1 else { throw fault("unsupported btsnoop version \(version), expected 1") }
    let number = buffer.number32(at: 12, isBig: true)
    guard let type = CaptureLinkType(datalink: number) else {
      throw fault(
        "unsupported btsnoop datalink \(number), expected 1001 (HCI), 1002 (H4) or 2001 (Linux "
          + "monitor)")
    }
    buffer.drop(16)
    return type
  }

  mutating func btsnoop(_ type: CaptureLinkType) throws(CaptureFault) -> CaptureRecord? {
    if buffer.count == 0 { return nil }
    guard has(24, of: "the record's header") else { return nil }
    let original = buffer.number32(at: 0, isBig: true)
    let included = buffer.number32(at: 4, isBig: true)
    try check(length: included)
    let length = Int(included)
    guard has(24 + length, of: "the record") else { return nil }
    let high = UInt64(buffer.number32(at: 16, isBig: true))
    let low = UInt64(buffer.number32(at: 20, isBig: true))
    let microseconds = Int64(bitPattern: high << 32 | low)
      .subtractingReportingOverflow(Self.btsnoopEpoch)
    let time = microseconds.partialValue.multipliedReportingOverflow(by: 1000)
    return record(
      header: 24, length: length,
      time: microseconds.overflow || time.overflow ? nil : time.partialValue, type,
      CaptureFlags(word: buffer.number32(at: 8, isBig: true), isCut: included < original))
  }
}
