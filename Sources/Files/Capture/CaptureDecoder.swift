import ATT

/// Finds the attribute PDUs in the records of a capture.
///
/// # Theory
///
/// A PDU is the content of an L2CAP PDU on channel 4 (Vol 3, Part A, 3.1), which travels in one or
/// more fragments: ACL data of HCI (Vol 4, Part E, 5.4.2) or data PDUs of the link layer (Vol 6,
/// Part B, 2.4). Fragments of the two directions of a connection are put together apart. For
/// other channels only lengths are kept, so that their continuations are not taken for anything.
///
/// A connection begins and ends with the events that say so, if the capture has them. ATT_MTU is
/// known from the beginning, or from an exchange. Where the beginning is not in the capture, one
/// handle may stand for several connections (as in files of `atto serve --capture`); there the
/// largest ATT_MTU that was agreed holds, so that nothing right is called too long.
///
/// Limits: 64 L2CAP PDUs under way, each of 65,539 octets and a fragment at most; 4096 connections remembered.
public struct CaptureDecoder: Sendable {
  /// Channels that carry attribute PDUs.
  public let channels: Set<UInt16>
  /// What was found until now, and what was left out.
  public internal(set) var counts = CaptureCounts()

  /// L2CAP PDUs that are put together at a time; the one that grew last longest ago goes first.
  public static let partLimit = 64
  /// Connections that are remembered; with one more all others are forgotten.
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

  /// An L2CAP PDU that is being put together.
  private struct Part {
    var octets: [UInt8]
    /// Octets that have come, also where they are not kept.
    var count: Int
    var used: Int
  }

  private var parts: [Way: Part] = [:]
  var connections: [Path: ConnectionState] = [:]
  var lastOnAir: [Way: (isOdd: Bool, octets: [UInt8])] = [:]

  /// One that looks for PDUs on these channels of L2CAP.
  public init(channels: Set<UInt16> = [4]) { self.channels = channels }

  /// The PDU that is whole with this record, if there is one.
  public mutating func take(_ record: CaptureRecord) -> CapturedPDU? {
    counts.records += 1
    switch record.content {
    case .note: counts.notes += 1
    case .unknown(let what): counts.unknown[what, default: 0] += 1
    case .radio(let pdu): return takeRadio(pdu, record)
    case .hci(let hci):
      switch hci.kind {
      case .command, .event:
        counts.commandsAndEvents += 1
        if hci.kind == .event { takeEvent(hci) }
      case .synchronous, .isochronous: counts.streams += 1
      case .acl: return takeACL(hci, record)
      }
    }
    return nil
  }

  /// To be called at the end: what has not ended by then counts as without end.
  public mutating func finish() {
    counts.withoutEnd += parts.count
    parts = [:]
  }

  // MARK: - Fragments

  private mutating func takeACL(
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
    // Without a direction in the file: hosts begin with 00, controllers with 10, and a
    // continuation belongs to what began last.
    let isSent = hci.isSent ?? (boundary == 1 ? began(last: path) : boundary == 0)
    let way = Way(path: path, isSent: isSent)
    guard octets.count - 4 == stated else {
      drop(way)
      if hci.isCut { counts.cut += 1 } else { counts.malformed += 1 }
      return nil
    }
    return take(octets[4...], beginning: boundary != 1, way, record)
  }

  /// A fragment of L2CAP.
  mutating func take(
    _ fragment: ArraySlice<UInt8>, beginning: Bool, _ way: Way, _ record: CaptureRecord
  ) -> CapturedPDU? {
    var part: Part
    if beginning {
      drop(way)
      part = Part(octets: [], count: 0, used: 0)
    } else if let found = parts.removeValue(forKey: way) {
      part = found
    } else {
      counts.withoutBeginning += 1
      return nil
    }
    part.count += fragment.count
    part.used = counts.records
    // The four octets of the header decide whether the rest is kept.
    if part.octets.count < 4 || channels.contains(part.octets.number16(at: 2, isBig: false)) {
      part.octets += fragment
    }
    guard part.octets.count >= 4 else {
      keep(part, way)
      return nil
    }
    let length = 4 + Int(part.octets.number16(at: 0, isBig: false))
    let channel = part.octets.number16(at: 2, isBig: false)
    guard part.count >= length else {
      if !channels.contains(channel) { part.octets = Array(part.octets.prefix(4)) }
      keep(part, way)
      return nil
    }
    guard part.count == length else {
      counts.malformed += 1
      return nil
    }
    guard channels.contains(channel) else {
      counts.otherChannels[channel, default: 0] += 1
      return nil
    }
    counts.pdus += 1
    let octets = Array(part.octets.dropFirst(4))
    var state = connection(way.path)
    let mtu = state.mtu
    if channel == 4 { state.see(octets, isSent: way.isSent) }
    remember(state, way.path)
    return CapturedPDU(
      record: record.number, offset: record.offset, time: record.time,
      connection: CapturedConnection(
        adapter: way.path.adapter, handle: way.path.handle, incarnation: state.incarnation,
        isOnAir: way.path.isOnAir),
      isSent: way.isSent, channel: channel, octets: octets, mtu: channel == 4 ? mtu : nil)
  }

  private mutating func keep(_ part: Part, _ way: Way) {
    if parts.count >= Self.partLimit, let oldest = parts.min(by: { $0.value.used < $1.value.used })
    {
      drop(oldest.key)
    }
    parts[way] = part
  }

  /// What began on this way will not end.
  mutating func drop(_ way: Way) {
    if parts.removeValue(forKey: way) != nil { counts.withoutEnd += 1 }
  }

  /// Whether what began last on this path, and has not ended, was sent.
  private func began(last path: Path) -> Bool {
    let sent = parts[Way(path: path, isSent: true)]?.used ?? -1
    return sent > parts[Way(path: path, isSent: false)]?.used ?? -1
  }
}
