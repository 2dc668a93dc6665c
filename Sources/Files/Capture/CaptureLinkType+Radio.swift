// What sniffers write: the link layer, with what they saw around it.

extension CaptureLinkType {
  /// LINKTYPE_BLUETOOTH_LE_LL_WITH_PHDR: ten octets, of which the last two are flags, then access
  /// address, PDU and CRC.
  static func radio(_ octets: [UInt8], _ isCut: Bool) -> CaptureRecord.Content {
    guard octets.count >= 10 else { return .unknown("records of a sniffer without a header") }
    let flags = octets.number16(at: 8, isBig: false)
    // Bits 7 to 9 say what kind of PDU it is, and for data from whom.
    let isFromCentral: Bool? =
      switch flags >> 7 & 7 {
      case 2: true
      case 3: false
      default: nil
      }
    // Bit 10: the CRC was looked at; bit 11: it was right.
    let isRight = flags & 0x0400 == 0 || flags & 0x0800 != 0
    // Bit 0: the whitening was taken off.
    guard flags & 1 != 0 else { return .unknown("records of a sniffer that are whitened") }
    return linkLayer(
      octets[10...], isFromCentral: isFromCentral, isRight: isRight, isCut: isCut,
      isEncrypted: false)
  }

  /// LINKTYPE_NORDIC_BLE: the sniffer's number, six octets of header, ten about the PDU, of which
  /// the second are flags, then access address, PDU and CRC.
  static func sniffed(_ octets: [UInt8], _ isCut: Bool) -> CaptureRecord.Content {
    // The fourth octet is the protocol's version in all of them but the oldest.
    guard octets.count >= 17, (1...3).contains(octets[3]), octets[7] == 10 else {
      return .unknown("records of a sniffer whose header is none of version 1 to 3")
    }
    let flags = octets[8]
    return linkLayer(
      octets[17...], isFromCentral: flags & 2 != 0, isRight: flags & 1 != 0, isCut: isCut,
      isEncrypted: flags & 4 != 0)
  }

  private static func linkLayer(
    _ octets: ArraySlice<UInt8>, isFromCentral: Bool?, isRight: Bool, isCut: Bool,
    isEncrypted: Bool
  ) -> CaptureRecord.Content {
    guard octets.count >= 6 else {
      return .unknown("records of a sniffer that are shorter than a PDU")
    }
    let address = Array(octets.prefix(4)).number32(at: 0, isBig: false)
    let rest = octets.dropFirst(4)
    // What follows the stated length is the CRC, if the sniffer keeps it. Bit 5 of a data PDU's
    // header tells of a third octet that the length leaves out (Vol 6, Part B, 2.4).
    let first = rest[rest.startIndex]
    let hasInfo = address != CaptureRecord.Radio.advertising && first & 0x20 != 0
    let length = (hasInfo ? 3 : 2) + Int(rest[rest.startIndex + 1])
    return .radio(
      CaptureRecord.Radio(
        accessAddress: address, isFromCentral: isFromCentral, octets: Array(rest.prefix(length)),
        isWhole: isRight && !isCut && rest.count >= length, isEncrypted: isEncrypted))
  }
}
