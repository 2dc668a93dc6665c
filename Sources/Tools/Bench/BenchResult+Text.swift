import Atto
import AttoCommandLine
import AttoText

/// Text and CSV.
extension BenchResult {
  package static let csvHead =
    "test,endpoint,mtu,size,count,seconds,rate,bytesPerSecond,p50us,p90us,p99us,maxus,jitterus,"
    + "cpuusPerPDU,lost,doubled,outOfOrder,partial,rateRatio,p50Ratio,p99Ratio,cpuusPerOperation,"
    + "peercpuusPerOperation,damaged,limitedBy,bearers,inFlight,handle,uuid"

  package var csv: String {
    let name =
      endpoint.contains(where: { ",\"\n".contains($0) })
      ? "\"" + endpoint.replacing(each: "\"", with: "\"\"") + "\"" : endpoint
    func text(_ value: (some CustomStringConvertible)?) -> String { value?.description ?? "" }
    let latency = latencyMicroseconds
    return [
      title, name, "\(mtu)", Int(exactly: size)?.description ?? "\(size)", "\(count)", "\(seconds)",
      "\(rate)", "\(bytesPerSecond)", "\(latency.p50)", "\(latency.p90)", "\(latency.p99)",
      "\(latency.max)", "\(jitterMicroseconds)", text(cpuMicrosecondsPerPDU), text(lost),
      text(doubled), text(outOfOrder), "\(partial)", text(compared?.rate), text(compared?.p50),
      text(compared?.p99), text(cpuMicrosecondsPerOperation), text(peerCPUMicrosecondsPerOperation),
      text(damaged), text(limitedBy?.kind.rawValue), text(bearers), text(inFlight),
      allHandles.map(String.init).joined(separator: " "),
      text(uuid),
    ].joined(separator: ",")
  }

  /// The octets of a value, without decimals if they are whole.
  var sizeText: String { Decimal.text(size, places: size == size.rounded() ? 0 : 1) }

  package static let head = [
    "", "octets", "rate/s", "B/s", "p50 us", "p90 us", "p99 us", "max us", "jitter us",
    "CPU us/PDU", "lost",
  ]

  package var cells: [String] {
    func number(_ value: Double, _ places: Int = 1) -> String {
      Decimal.text(value, places: places)
    }
    let latency = latencyMicroseconds
    return [
      heading + (partial ? " (partial)" : ""), sizeText,
      number(rate, rate < 1000 ? 1 : 0), number(bytesPerSecond, 0), number(latency.p50),
      number(latency.p90), number(latency.p99), number(latency.max), number(jitterMicroseconds),
      cpuMicrosecondsPerPDU.map { number($0, 2) } ?? "-", lost.map { "\($0)" } ?? "?",
    ]
  }

  package var remarks: [String] {
    var lines: [String] = []
    if let valueText { lines.append("\(heading): \(valueText)") }
    if let bearersText { lines.append("\(heading): \(bearersText)") }
    if let doubled, let outOfOrder, doubled + outOfOrder > 0 {
      lines.append("\(heading): \(doubled) duplicates, \(outOfOrder) out of order")
    }
    if let damaged, damaged > 0 { lines.append("\(heading): \(damaged) damaged") }
    lines += faultTexts.map { "\(heading): \($0)" }
    if let peerText { lines.append("\(heading): \(peerText)") }
    if lost == nil {
      let isCounted = over == nil && countedAt == "receiver"
      let reason = isCounted ? "the values have no numbers" : "the peer does not report them"
      lines.append("\(heading): losses are unknown, because \(reason)")
    }
    if let link, link.parameters == nil {
      let phy = link.phy.map { ", PHY \($0)" } ?? ""
      lines.append(
        "\(heading): the link's interval and data length are unknown\(phy) (requires CAP_NET_RAW and a"
          + " link opened by this command); --link states them")
    }
    if let shareText { lines.append("\(heading): \(shareText)") }
    if let cpuText { lines.append("\(heading): CPU \(cpuText)") }
    if let limitedBy { lines.append("\(heading): limited by \(limitedBy.text)") }
    if let error { lines.append("\(heading): interrupted, partial result: \(error)") }
    return lines
  }

  /// The share of the link's limit, or that the link is another one.
  var shareText: String? {
    guard let link else { return nil }
    let parameters = link.parameters ?? "the link"
    if link.another == true {
      let origin = link.source == "kernel" ? " (reported by the kernel)" : ""
      return "another link than \(parameters)\(origin), which cannot carry this rate; its limit is"
        + " unknown"
    }
    guard let share = link.shareOfLimit else { return nil }
    let limit =
      link.limitBytesPerSecond.map { "\(Decimal.text($0, places: 0)) B/s" }
      ?? link.limitPerSecond.map { "\(Decimal.text($0, places: 1))/s" } ?? ""
    let excess =
      (share * 100).rounded(places: 1) <= 100
      ? "" : isCountedBySender ? "; values in queues count too" : "; over 100 % by rounding"
    return "\(BenchLimit.text(ofShare: share)) of the \(limit) limit of \(parameters)\(excess)"
  }

  /// The value that was measured.
  var valueText: String? {
    let all = allHandles
    guard !all.isEmpty, let uuid, let type = BluetoothUUID(uuid) else { return nil }
    let list = all.map { "\(AttributeHandle(rawValue: UInt16(clamping: $0)))" }
    return "value\(all.count > 1 ? "s" : "") \(list.joined(separator: ", ")),"
      + " \(Shown.named(type, .characteristic))"
  }

  /// The enhanced bearers, and the procedures in flight.
  var bearersText: String? {
    let parts = [
      bearers.map { Shown.count($0, "enhanced bearer") },
      inFlight.map { "\($0) procedures in flight" },
    ].compactMap(\.self)
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  /// The numbers of faulty values.
  var faultTexts: [String] {
    [
      ("lost", faults?.lost), ("duplicates", faults?.doubled), ("out of order", faults?.outOfOrder),
      ("damaged, by their place", faults?.damaged),
    ].compactMap { name, numbers in numbers.map { "\(name): \($0)" } }
  }

  /// What a peer with the throughput service of Nordic or ST counted.
  var peerText: String? {
    guard let peerMetrics else { return nil }
    let rate = Decimal.text(Double(peerMetrics.bitsPerSecond) / 8, places: 0)
    guard let writes = peerMetrics.writes else {
      return "the peer counted \(peerMetrics.octets) octets, \(rate) of them in its best second"
    }
    return
      "the peer counted \(writes) writes of \(peerMetrics.octets) octets, and \(rate) B/s from its reset to the"
      + " last write (\(Decimal.text(peerMetrics.rateRatio, places: 2)) times the rate of this end)"
  }

  /// The CPU time of both ends.
  var cpuText: String? {
    guard let own = cpuMicrosecondsPerOperation else { return nil }
    func text(_ time: Double) -> String {
      "\(Decimal.text(time, places: 2)) us (\(Decimal.text(time * rate / 1e4, places: 1)) %)"
    }
    return text(own) + " per operation here"
      + (peerCPUMicrosecondsPerOperation.map { ", \(text($0)) at the peer" } ?? "")
  }
}
