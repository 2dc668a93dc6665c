import Files

/// What `decode` says at the end of a capture: what it held beside attribute PDUs, so that nobody
/// takes what is not shown for what was not there.
enum CaptureSummary {
  static func lines(_ counts: CaptureCounts, _ format: CaptureReader.Format) -> [String] {
    var others: [String] = []
    func add(_ count: Int, _ what: String) {
      if count > 0 { others.append("\(count) \(what)") }
    }
    add(counts.commandsAndEvents, "of HCI's commands and events")
    let channels = counts.otherChannels.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    for (channel, count) in channels.prefix(6) {
      others.append("\(count) of channel \(name(channel))")
    }
    add(channels.dropFirst(6).reduce(0) { $0 + $1.value }, "of further channels")
    add(counts.streams, "of audio and other streams")
    add(counts.linkLayer, "of the link layer's own and advertising")
    add(counts.repetitions, "of the link layer once more")
    add(counts.notes, "of the monitor's own")
    var text =
      "\(Shown.count(counts.records, "record")) of \(format.rawValue): "
      + Shown.count(counts.pdus, "attribute PDU")
    if !others.isEmpty { text += "; beside them " + others.joined(separator: ", ") }
    var lines = [text]
    for (what, count) in counts.unknown.sorted(by: { $0.key < $1.key }) {
      lines.append("not understood: \(count) \(what)")
    }
    func leftOut(_ count: Int, _ what: String) {
      if count > 0 { lines.append("left out: \(count) \(what)") }
    }
    leftOut(counts.cut, "that the capture has cut short, or that arrived damaged")
    leftOut(counts.malformed, "whose lengths contradict each other")
    leftOut(counts.withoutBeginning, "that continue what is not in the capture")
    leftOut(counts.withoutEnd, "whose end is not in the capture")
    leftOut(counts.encrypted, "that are encrypted; a capture at a host has them in the clear")
    return lines
  }

  private static func name(_ channel: UInt16) -> String {
    let digits = String(channel, radix: 16, uppercase: true)
    let number = "0x" + String(repeating: "0", count: 4 - digits.count) + digits
    return switch channel {
    case 1: number + " (signalling, BR/EDR)"
    case 4: number + " (ATT)"
    case 5: number + " (signalling)"
    case 6: number + " (Security Manager)"
    case 7: number + " (Security Manager, BR/EDR)"
    default: number
    }
  }
}
