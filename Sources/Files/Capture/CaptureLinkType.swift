/// What the records of a capture are made of: btsnoop calls it datalink, pcap link type.
enum CaptureLinkType: Equatable, Sendable {
  /// HCI without its indicator: the record's flags tell what it is.
  case hci
  /// HCI with the indicator of H4.
  case h4
  /// H4 with the direction before it: four octets, 0 for sent.
  case h4WithDirection
  /// What Linux' monitor tells: the kind is in the record's flags.
  case monitor
  /// The same with adapter and kind before it, two octets each.
  case monitorWithHeader
  /// The link layer, with what the sniffer saw around it.
  case radioWithHeader
  /// The link layer as a certain sniffer's serial line carries it.
  case nordicSniffer

  /// By its number in btsnoop.
  init?(datalink: UInt32) {
    switch datalink {
    case 1001: self = .hci
    case 1002: self = .h4
    case 2001: self = .monitor
    default: return nil
    }
  }

  /// By its number in pcap and pcapng.
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

  static let datalinks = "1001 (HCI), 1002 (H4) and 2001 (Linux' monitor)"
  static let linkTypes = "187, 201 (H4), 254 (Linux' monitor), 256 and 272 (sniffers)"
}

/// What a record says of its octets beside themselves.
struct CaptureFlags {
  /// btsnoop's flags: direction and kind, or adapter and kind.
  var word: UInt32?
  /// Whether the host sent it, where that stands outside of the octets.
  var isSent: Bool?
  var isCut: Bool
}

extension CaptureLinkType {
  /// What the octets of a record are. What is too short to be anything is unknown.
  func content(_ octets: [UInt8], _ flags: CaptureFlags) -> CaptureRecord.Content {
    switch self {
    case .hci:
      let word = flags.word ?? 0
      let isReceived = word & 1 != 0
      let kind: CaptureRecord.HCI.Kind =
        word & 2 == 0 ? .acl : isReceived ? .event : .command
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
    case .nordicSniffer: return Self.sniffed(octets, flags.isCut)
    }
  }

  private func h4(
    _ octets: ArraySlice<UInt8>, _ isSent: Bool?, _ isCut: Bool
  ) -> CaptureRecord.Content {
    guard let first = octets.first, let kind = CaptureRecord.HCI.Kind(rawValue: first) else {
      return .unknown("records of H4 that are none of its five kinds")
    }
    return .hci(
      CaptureRecord.HCI(
        kind: kind, isSent: isSent, adapter: 0, octets: Array(octets.dropFirst()), isCut: isCut))
  }

  /// The kinds of HCI_MON_* of Linux' monitor.
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
    default: return .unknown("records of Linux' monitor of a kind above 19")
    }
    return .hci(
      CaptureRecord.HCI(
        kind: found.kind, isSent: found.isSent, adapter: adapter, octets: Array(octets),
        isCut: isCut))
  }
}
