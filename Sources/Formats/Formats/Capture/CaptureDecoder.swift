import AttoATT

/// Finds the ATT PDUs in the records of a capture.
///
/// # Theory
///
/// An ATT PDU is the payload of an L2CAP PDU on channel 4 (Vol 3, Part A, 3.1). It arrives in one or
/// more fragments: HCI ACL data (Vol 4, Part E, 5.4.2) or link-layer data PDUs (Vol 6, Part B, 2.4).
/// The decoder reassembles each direction of a connection separately. Enhanced bearers have channels of
/// their own, which the decoder knows if the capture shows how they were opened. For other channels it
/// keeps only lengths, so that their continuation fragments are recognized.
///
/// HCI events start and end connections if the capture has them. ATT_MTU is known from the start of
/// a connection or from an exchange. If the start is not in the capture, one handle may stand for
/// several connections. The largest agreed ATT_MTU applies then, so that no valid PDU is reported as
/// too long.
///
/// Limits: 64 incomplete L2CAP PDUs of at most 65,539 octets and a fragment each, and as many incomplete
/// SDUs of enhanced bearers; 4096 connections.
public struct CaptureDecoder: Sendable {
  /// The L2CAP channels that carry ATT PDUs.
  public let channels: Set<UInt16>
  /// Counts of the records so far, decoded and skipped.
  public internal(set) var counts = CaptureCounts()

  /// The most incomplete L2CAP PDUs; with one more, the decoder drops the one that grew least
  /// recently.
  public static let partLimit = 64
  /// The most connections; with one more, the decoder forgets all others.
  public static let connectionLimit = 4096

  struct Path: Hashable {
    var adapter: UInt16
    var handle: UInt32
    var isOnAir: Bool
  }

  struct Way: Hashable {
    var path: Path
    var isSent: Bool
  }

  /// An incomplete L2CAP PDU.
  private struct Part {
    var octets: [UInt8] = []
    /// The number of octets received, which may exceed those kept.
    var count = 0
    var used = 0
  }

  private var parts: [Way: Part] = [:]
  var sdus: [BearerWay: SDU] = [:]
  var connections: [Path: ConnectionState] = [:]
  private var lastOnAir: [Way: (isOdd: Bool, octets: [UInt8])] = [:]

  /// Creates a decoder for PDUs on these L2CAP channels.
  public init(channels: Set<UInt16> = [4]) { self.channels = channels }

  /// Decodes the next record. Returns the PDU that it completes, if any.
  public mutating func decode(_ record: CaptureRecord) -> CapturedPDU? {
    counts.records += 1
    switch record.content {
    case .note: counts.notes += 1
    case .unknown(let kind): counts.unknown[kind, default: 0] += 1
    case .radio(let pdu): return decode(pdu, record)
    case .hci(let hci):
      switch hci.kind {
      case .command, .event:
        counts.commandsAndEvents += 1
        if hci.kind == .event { update(hci) }
      case .synchronous, .isochronous: counts.streams += 1
      case .acl: return decodeACL(hci, record)
      }
    }
    return nil
  }

  /// Counts the PDUs that are still incomplete. Call it at the end of the capture.
  public mutating func finish() {
    counts.withoutEnd += parts.count + sdus.count
    parts = [:]
    sdus = [:]
  }

  // MARK: - Fragments

  private mutating func decodeACL(
    _ hci: CaptureRecord.HCI, _ record: CaptureRecord
  ) -> CapturedPDU? {
    let octets = hci.octets
    guard octets.count >= 4 else {
      if hci.isCut { counts.cut += 1 } else { counts.malformed += 1 }
      return nil
    }
    let head = octets.number16(at: 0, isBig: false)
    let path = Path(adapter: hci.adapter, handle: UInt32(head & 0xFFF), isOnAir: false)
    let boundary = head >> 12 & 3
    let stated = Int(octets.number16(at: 2, isBig: false))
    // Without a direction in the file: a host starts a PDU with boundary 00, a controller with 10.
    // A continuation belongs to the PDU that was started last.
    let isSent = hci.isSent ?? (boundary == 1 ? lastStartWasSent(path) : boundary == 0)
    let way = Way(path: path, isSent: isSent)
    guard octets.count - 4 == stated else {
      drop(way)
      if hci.isCut { counts.cut += 1 } else { counts.malformed += 1 }
      return nil
    }
    return append(octets[4...], isStart: boundary != 1, way, record)
  }

  /// Decodes a link-layer data PDU. A PDU that is not acknowledged is sent, and captured, again with
  /// the same sequence number (Vol 6, Part B, 2.4 and 4.5.9).
  private mutating func decode(
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
      counts.unknown["sniffed data PDUs without a direction", default: 0] += 1
      return nil
    }
    let path = Path(adapter: 0, handle: pdu.accessAddress, isOnAir: true)
    let way = Way(path: path, isSent: isFromCentral)
    let payload = pdu.octets.dropFirst(first & 0x20 != 0 ? 3 : 2)
    // Bit 3 is the sequence number. In a retransmission all bits except the kind may differ.
    let isOdd = first & 8 != 0
    let content = [first & 3] + payload
    if let last = lastOnAir[way], last.isOdd == isOdd, last.octets == content {
      counts.repetitions += 1
      return nil
    }
    if lastOnAir.count >= Self.connectionLimit, lastOnAir[way] == nil { lastOnAir = [:] }
    lastOnAir[way] = (isOdd, content)
    // 1 is a continuation or empty, 2 a start, 3 a control PDU.
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
    return append(payload, isStart: first & 3 == 2, way, record)
  }

  /// Adds an L2CAP fragment.
  private mutating func append(
    _ fragment: ArraySlice<UInt8>, isStart: Bool, _ way: Way, _ record: CaptureRecord
  ) -> CapturedPDU? {
    var part = Part()
    if isStart {
      drop(way)
    } else if let found = parts.removeValue(forKey: way) {
      part = found
    } else {
      counts.withoutBeginning += 1
      return nil
    }
    part.count += fragment.count
    part.used = counts.records
    // The header of four octets decides whether the rest is kept.
    if part.octets.count < 4 || isKept(part.octets.number16(at: 2, isBig: false), way) {
      part.octets += fragment
    }
    guard part.octets.count >= 4 else {
      store(part, way)
      return nil
    }
    let length = 4 + Int(part.octets.number16(at: 0, isBig: false))
    let channel = part.octets.number16(at: 2, isBig: false)
    guard part.count >= length else {
      if !isKept(channel, way) { part.octets = Array(part.octets.prefix(4)) }
      store(part, way)
      return nil
    }
    guard part.count == length else {
      counts.malformed += 1
      return nil
    }
    var octets = Array(part.octets.dropFirst(4))
    var state = connection(way.path)
    let bearer = state.bearers.bearer(channel, isSent: way.isSent)
    if channel == Self.signalling {
      state.bearers.receive(octets, isSent: way.isSent)
      store(state, way.path)
    }
    if bearer != nil {
      let key = BearerWay(way: way, channel: channel)
      guard let sdu = receive(octets[...], of: key) else { return nil }
      octets = sdu
    } else if !channels.contains(channel) {
      counts.otherChannels[channel, default: 0] += 1
      return nil
    }
    counts.pdus += 1
    let mtu = bearer?.mtu ?? (channel == 4 ? state.mtu : nil)
    if channel == 4 { state.update(octets, isSent: way.isSent) }
    store(state, way.path)
    return CapturedPDU(
      record: record.number, offset: record.offset, time: record.time,
      connection: CapturedConnection(
        adapter: way.path.adapter, handle: way.path.handle, incarnation: state.incarnation,
        isOnAir: way.path.isOnAir),
      isSent: way.isSent, channel: channel, bearer: bearer?.number ?? 0, octets: octets, mtu: mtu)
  }

  /// Whether the content of a channel's PDUs is needed.
  private func isKept(_ channel: UInt16, _ way: Way) -> Bool {
    channel == Self.signalling || channels.contains(channel)
      || connections[way.path]?.bearers.bearer(channel, isSent: way.isSent) != nil
  }

  private mutating func store(_ part: Part, _ way: Way) {
    if parts.count >= Self.partLimit, let oldest = parts.min(by: { $0.value.used < $1.value.used })
    {
      drop(oldest.key)
    }
    parts[way] = part
  }

  /// Drops an incomplete PDU.
  mutating func drop(_ way: Way) {
    if parts.removeValue(forKey: way) != nil { counts.withoutEnd += 1 }
  }

  /// Whether the incomplete PDU that was started last on this path was sent.
  private func lastStartWasSent(_ path: Path) -> Bool {
    let sent = parts[Way(path: path, isSent: true)]?.used ?? -1
    return sent > parts[Way(path: path, isSent: false)]?.used ?? -1
  }
}
