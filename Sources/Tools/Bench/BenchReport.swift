import Atto
import AttoCommandLine
import AttoText
import Glibc

/// `--report`: a self-contained page, in light and dark. The command line, the name of the host and the
/// earlier results may hold anything: all text is escaped.
package struct BenchReport {
  private let path: String

  /// - Throws: `FileError` if the file cannot be written.
  package init(path: String) throws {
    self.path = path
    try WrittenFile.check(path)
  }

  package func write(_ runs: [BenchRun]) throws { try WrittenFile.write(page(runs), to: path) }

  // MARK: The page

  private func page(_ runs: [BenchRun]) -> String {
    let hasStages = runs.contains { $0.result.stages != nil }
    let title = "atto bench \(runs.first?.result.endpoint ?? "")"
    return """
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <title>\(title.escapedForMarkup)</title>
      <style>\(Self.style)\(hasStages ? "\n" + Stage.style : "")</style></head><body><main>
      <h1>\(title.escapedForMarkup)</h1>
      <p class="sub">\(Shown.date(Int64(time(nil)))), atto \(Version.number),
      host \(Machine.host.escapedForMarkup): \(Machine.text.escapedForMarkup)</p>
      <pre class="command">\(Machine.commandLine.escapedForMarkup)</pre>
      \(table(BenchResult.head, runs.map(\.result.cells)))
      \(runs.map(section).joined(separator: "\n"))
      <h2>How to read this</h2>
      <p>Values are counted by their receiver, and checked by their numbers if they have any. Values
      during the warm-up do not count. Percentiles are accurate to 1 %. CPU time is that of the
      measuring process, and of a peer that reports its own; the shares are those of the time. Jitter is the mean difference between consecutive
      latencies. B/s counts the octets of values.</p>
      </main></body></html>

      """
  }

  /// - Parameter marks: the classes of coloured marks before each row; empty for none.
  private func table(_ head: [String], _ rows: [[String]], marks: [String] = []) -> String {
    func row(_ cells: [String], _ tag: String, _ mark: String = "") -> String {
      let cells = cells.map(\.escapedForMarkup).joined(separator: "</\(tag)><\(tag)>")
      return "<tr><\(tag)>\(mark)\(cells)</\(tag)></tr>"
    }
    let body = rows.enumerated().map { index, cells in
      let mark = marks.isEmpty ? "" : "<span class=\"swatch \(marks[index])\"></span>"
      return row(cells, "td", mark)
    }.joined(separator: "\n")
    return "<div class=\"scroll\"><table><thead>\(row(head, "th"))</thead><tbody>\(body)</tbody>"
      + "</table></div>"
  }

  private func section(_ run: BenchRun) -> String {
    let (result, before) = run
    let latency = result.latencyMicroseconds
    let list = facts(result).map {
      "<dt>\($0.escapedForMarkup)</dt><dd>\($1.escapedForMarkup)</dd>"
    }.joined()
    let partial = result.error.map {
      "<p class=\"partial\">Interrupted, partial result: \($0.escapedForMarkup)</p>"
    }
    let limit = result.limitedBy.map { "<p>Limited by \($0.text.escapedForMarkup).</p>" }
    let tiles = [
      (Self.grouped(result.rate), "rate/s"), (Self.grouped(result.bytesPerSecond), "B/s"),
      (Self.grouped(latency.p50), "p50 us"), (Self.grouped(latency.p99), "p99 us"),
      (Self.grouped(latency.max), "max us"),
    ].map { "<div class=\"tile\"><b>\($0.0)</b><span>\($0.1)</span></div>" }.joined()
    let key =
      before == nil
      ? "" : "<p class=\"key\"><span>this run</span> <span class=\"was\">before</span></p>"
    let comparison = before.map { before in
      "<h3>\(result.comparisonTitle.escapedForMarkup)</h3>"
        + table(BenchDifference.head, result.differences(from: before).map(\.cells))
    }
    return """
      <section><h2>\(result.heading.escapedForMarkup)</h2>\(partial ?? "")
      <div class="tiles">\(tiles)</div>
      \(limit ?? "")
      \(key)<div class="charts"><div><h3>Rate over time</h3>
      \(BenchChart.rate(result, before: before))
      </div><div><h3>Latency: \(result.latencyOf.escapedForMarkup)</h3>
      \(BenchChart.latencies(result, before: before))
      </div></div>
      \(stages(result, before: before))
      \(comparison ?? "")
      <dl>\(list)</dl></section>
      """
  }

  /// Where the time went, with `--stages`.
  private func stages(_ result: BenchResult, before: BenchResult?) -> String {
    guard let stages = result.stages else { return "" }
    var text = "<h3>\(result.stagesTitle.escapedForMarkup)</h3>"
    if !stages.parts.isEmpty {
      text += BenchChart.stages(stages, before: before?.stages)
      text += table(BenchStages.head, stages.rows, marks: stages.parts.map(\.stage.rawValue))
    }
    return text + stages.remarks.map { "<p>\($0.escapedForMarkup).</p>" }.joined()
  }

  private func facts(_ result: BenchResult) -> [(String, String)] {
    var facts = [
      ("values", "\(result.count) in \(Decimal.text(result.seconds, places: 2)) s"),
      ("octets per value", result.sizeText), ("counted at", result.countedAt),
      ("latency of", result.latencyOf),
    ]
    if let text = result.valueText { facts.insert(("value", text), at: 1) }
    if result.mtu > 0 { facts.insert(("ATT_MTU", "\(result.mtu)"), at: 1) }
    if let text = result.bearersText { facts.append(("bearers", text)) }
    if let run = result.run { facts.append(("run", "\(run)")) }
    if let lost = result.lost {
      let others = "\(result.doubled ?? 0), \(result.outOfOrder ?? 0)"
      facts.append(("lost, doubled, out of order", "\(lost), \(others)"))
    }
    if let damaged = result.damaged { facts.append(("damaged", "\(damaged)")) }
    facts += result.faultTexts.map { ("numbers", $0) }
    if let text = result.cpuText { facts.append(("CPU", text)) }
    if let text = result.peerText { facts.append(("peer", text)) }
    if let link = result.link {
      let told = link.source == "kernel" ? " (reported by the kernel)" : ""
      facts.append(("link", (link.parameters ?? link.phy ?? "unknown") + told))
      if let text = result.shareText { facts.append(("limit of the link", text)) }
    }
    return facts
  }

  static func grouped(_ value: Double) -> String {
    guard value >= 1000 else { return Decimal.text(value, places: 1) }
    var digits = Decimal.text(value, places: 0)
    var groups: [String] = []
    while digits.count > 3 {
      groups.insert(String(digits.suffix(3)), at: 0)
      digits.removeLast(3)
    }
    return ([digits] + groups).joined(separator: "\u{202F}")
  }
}
