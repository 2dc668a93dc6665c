/// The encapsulation of a capture's records: btsnoop's datalink or pcap's link type.
enum CaptureLinkType: Equatable, Sendable {
  /// HCI without an H4 indicator; the record's flags give the packet type.
  case hci
  /// HCI with an H4 indicator.
  case h4
  /// A direction in four octets (0 is sent), then H4.
  case h4WithDirection
  /// Linux monitor; the kind is in the record's flags.
  case monitor
  /// Linux monitor after the adapter and the kind, in two octets each.
  case monitorWithHeader
  /// The link layer, after a sniffer's header.
  case radioWithHeader
  /// The link layer as Nordic's sniffer sends it on its serial line.
  case nordicSniffer

  /// Creates a type from btsnoop's number.
  init?(datalink: UInt32) {
    switch datalink {
    case 1001: self = .hci
    case 1002: self = .h4
    case 2001: self = .monitor
    default: return nil
    }
  }

  /// Creates a type from the number in pcap and pcapng.
  init?(linkType: UInt32) {
    switch linkType {
    case 187: self = .h4
    case 201: self = .h4WithDirection
    case 254: self = .monitorWithHeader
    case 256: self = .radioWithHeader
    case 272: self = .nordicSniffer
    default: return nil
    }
  }
}

/// Properties of a record that are not in its octets.
struct CaptureFlags {
  /// btsnoop's flags: direction and packet type, or adapter and kind.
  var word: UInt32?
  /// Whether the host sent the packet.
  var isSent: Bool?
  var isCut: Bool
}

extension CaptureLinkType {
  /// Interprets the octets of a record. Octets that are too short become `unknown`.
  func content(_ octets: [UInt8], _ flags: CaptureFlags) -> CaptureRecord.Content {
    switch self {
    case .hci:
      let word = flags.word ?? 0
      let isReceived = word & 1 != 0
      let kind: CaptureRecord.HCI.Kind = word & 2 == 0 ? .acl : isReceived ? .event : .command
      return .hci(
        CaptureRecord.HCI(
          kind: kind, isSent: !isReceived, adapter: 0, octets: octets, isCut: flags.isCut))
    case .h4: return h4(octets[...], flags.word.map { $0 & 1 == 0 } ?? flags.isSent, flags.isCut)
    case .h4WithDirection:
      guard octets.count >= 4 else { return .unknown("records without a direction") }
      return h4(octets[4...], octets.number32(at: 0, isBig: true) & 1 == 0, flags.isCut)
    case .monitor:
      let word = flags.word ?? 0
      return monitor(
        octets[...], kind: UInt16(truncatingIfNeeded: word),
        adapter: UInt16(truncatingIfNeeded: word >> 16), flags.isCut)
    case .monitorWithHeader:
      guard octets.count >= 4 else { return .unknown("records without a header") }
      return monitor(
        octets[4...], kind: octets.number16(at: 2, isBig: true),
        adapter: octets.number16(at: 0, isBig: true), flags.isCut)
    case .radioWithHeader: return Self.radio(octets, flags.isCut)
    case .nordicSniffer: return Self.nordic(octets, flags.isCut)
    }
  }

  private func h4(
    _ octets: ArraySlice<UInt8>, _ isSent: Bool?, _ isCut: Bool
  ) -> CaptureRecord.Content {
    guard let first = octets.first, let kind = CaptureRecord.HCI.Kind(rawValue: first) else {
      return .unknown("H4 records of an unknown type")
    }
    return .hci(
      CaptureRecord.HCI(
        kind: kind, isSent: isSent, adapter: 0, octets: Array(octets.dropFirst()), isCut: isCut))
  }

  /// - Parameter kind: one of the kernel's HCI_MON_*.
  private func monitor(
    _ octets: ArraySlice<UInt8>, kind: UInt16, adapter: UInt16, _ isCut: Bool
  ) -> CaptureRecord.Content {
    let found: (kind: CaptureRecord.HCI.Kind, isSent: Bool)
    switch kind {
    case 2: found = (.command, true)
    case 3: found = (.event, false)
    case 4: found = (.acl, true)
    case 5: found = (.acl, false)
    case 6: found = (.synchronous, true)
    case 7: found = (.synchronous, false)
    case 18: found = (.isochronous, true)
    case 19: found = (.isochronous, false)
    case 0, 1, 8...17: return .note
    default: return .unknown("Linux monitor records of a kind above 19")
    }
    return .hci(
      CaptureRecord.HCI(
        kind: found.kind, isSent: found.isSent, adapter: adapter, octets: Array(octets),
        isCut: isCut))
  }

  // MARK: - Sniffers

  /// LINKTYPE_BLUETOOTH_LE_LL_WITH_PHDR: ten octets, the last two of them flags, then access
  /// address, PDU and CRC.
  private static func radio(_ octets: [UInt8], _ isCut: Bool) -> CaptureRecord.Content {
    guard octets.count >= 10 else { return .unknown("sniffer records without a header") }
    let flags = octets.number16(at: 8, isBig: false)
    // Bits 7 to 9 are the kind of PDU, and for data PDUs the sender.
    let isFromCentral: Bool? =
      switch flags >> 7 & 7 {
      case 2: true
      case 3: false
      default: nil
      }
    // Bit 10: the CRC was checked. Bit 11: it was correct.
    let isRight = flags & 0x0400 == 0 || flags & 0x0800 != 0
    // Bit 0: the whitening was removed.
    guard flags & 1 != 0 else { return .unknown("whitened sniffer records") }
    return linkLayer(
      octets[10...], isFromCentral: isFromCentral, isRight: isRight, isCut: isCut,
      isEncrypted: false)
  }

  /// LINKTYPE_NORDIC_BLE: the sniffer's number, a header of six octets, ten octets about the PDU,
  /// the second of them flags, then access address, PDU and CRC.
  private static func nordic(_ octets: [UInt8], _ isCut: Bool) -> CaptureRecord.Content {
    // The fourth octet is the protocol version, except in the oldest version.
    guard octets.count >= 17, (1...3).contains(octets[3]), octets[7] == 10 else {
      return .unknown("sniffer records with a header other than version 1 to 3")
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
      return .unknown("sniffer records shorter than a PDU")
    }
    let address = Array(octets.prefix(4)).number32(at: 0, isBig: false)
    let rest = octets.dropFirst(4)
    // A CRC may follow the stated length. Bit 5 of a data PDU's header announces a third header
    // octet that the length does not count (Vol 6, Part B, 2.4).
    let first = rest[rest.startIndex]
    let hasInfo = address != CaptureRecord.Radio.advertising && first & 0x20 != 0
    let length = (hasInfo ? 3 : 2) + Int(rest[rest.startIndex + 1])
    return .radio(
      CaptureRecord.Radio(
        accessAddress: address, isFromCentral: isFromCentral, octets: Array(rest.prefix(length)),
        isWhole: isRight && !isCut && rest.count >= length, isEncrypted: isEncrypted))
  }
}
