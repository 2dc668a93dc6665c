// Data PDUs of the link layer. Vol 6, Part B, 2.4.

extension CaptureDecoder {
  /// A PDU that a sniffer has seen. What was not answered is sent again with the same sequence
  /// number (Vol 6, Part B, 4.5.9), and seen again.
  mutating func takeRadio(
    _ pdu: CaptureRecord.Radio, _ record: CaptureRecord
  ) -> CapturedPDU? {
    guard pdu.accessAddress != CaptureRecord.Radio.advertising, let first = pdu.octets.first else {
      counts.linkLayer += 1
      return nil
    }
    guard pdu.isWhole else {
      counts.cut += 1
      return nil
    }
    guard let isFromCentral = pdu.isFromCentral else {
      counts.unknown["data PDUs of a sniffer without a direction", default: 0] += 1
      return nil
    }
    let path = Path(adapter: 0, handle: pdu.accessAddress, isOnAir: true)
    let way = Way(path: path, isSent: isFromCentral)
    let payload = pdu.octets.dropFirst(first & 0x20 != 0 ? 3 : 2)
    // Bit 3 is the sequence number; the others but the kind differ when a PDU is sent again.
    let isOdd = first & 8 != 0
    let content = [first & 3] + payload
    if let last = lastOnAir[way], last.isOdd == isOdd, last.octets == content {
      counts.repetitions += 1
      return nil
    }
    if lastOnAir.count >= Self.connectionLimit, lastOnAir[way] == nil { lastOnAir = [:] }
    lastOnAir[way] = (isOdd, content)
    // 1 continues or is empty, 2 begins, 3 is control.
    guard first & 3 != 3, !payload.isEmpty else {
      counts.linkLayer += 1
      return nil
    }
    guard first & 3 != 0 else {
      counts.malformed += 1
      return nil
    }
    guard !pdu.isEncrypted else {
      counts.encrypted += 1
      return nil
    }
    return take(payload, beginning: first & 3 == 2, way, record)
  }
}
