import Atto
import AttoATT
import AttoCommandLine
import AttoFormats

/// The summary at the end of a capture: the records that are not shown, by kind.
enum CaptureSummary {
  static func lines(_ counts: CaptureCounts, _ format: CaptureReader.Format) -> [String] {
    var others: [String] = []
    func add(_ count: Int, _ kind: String) {
      if count > 0 { others.append("\(count) \(kind)") }
    }
    add(counts.commandsAndEvents, "HCI commands and events")
    let channels = counts.otherChannels.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    for (channel, count) in channels.prefix(6) {
      others.append("\(count) on channel \(name(channel))")
    }
    add(channels.dropFirst(6).reduce(0) { $0 + $1.value }, "on further channels")
    add(counts.streams, "of audio and other streams")
    add(counts.linkLayer, "of link layer control and advertising")
    add(counts.repetitions, "link layer retransmissions")
    add(counts.notes, "of the monitor itself")
    var text =
      "\(Shown.count(counts.records, "record")) of \(format.rawValue): "
      + Shown.count(counts.pdus, "attribute PDU")
    if !others.isEmpty { text += "; not shown: " + others.joined(separator: ", ") }
    var lines = [text]
    for (what, count) in counts.unknown.sorted(by: { $0.key < $1.key }) {
      lines.append("unknown: \(count) \(what)")
    }
    func skipped(_ count: Int, _ reason: String) {
      if count > 0 { lines.append("skipped: \(count) \(reason)") }
    }
    skipped(counts.cut, "truncated or damaged")
    skipped(counts.malformed, "with contradictory lengths")
    skipped(counts.withoutBeginning, "without the beginning in the capture")
    skipped(counts.withoutEnd, "without the end in the capture")
    skipped(counts.encrypted, "encrypted; a capture on a host is not encrypted")
    return lines
  }

  private static func name(_ channel: UInt16) -> String {
    let number = "0x" + Hex.digits(channel)
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
