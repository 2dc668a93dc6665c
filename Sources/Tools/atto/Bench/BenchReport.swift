import Atto
import FoundationEssentials
import Glibc

/// `--report`: a self-contained page, in light and dark.
struct BenchReport {
  private let path: String
  private var sections: [(result: BenchResult, measured: Measurement)] = []

  /// - Throws: `FileError` if the file cannot be written.
  init(path: String) throws {
    self.path = path
    try WrittenFile.check(path)
  }

  mutating func add(_ result: BenchResult, _ measured: Measurement) {
    sections.append((result, measured))
  }

  func write() throws { try WrittenFile.write(page, to: path) }

  // MARK: The page

  private var page: String {
    let title = "atto bench \(sections.first?.result.endpoint ?? "")"
    let body = sections.map { section($0.result, $0.measured) }.joined(separator: "\n")
    return """
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <title>\(title.escapedForMarkup)</title>
      <style>\(Self.style)</style></head><body><main>
      <h1>\(title.escapedForMarkup)</h1>
      <p class="sub">\(Date().ISO8601Format().escapedForMarkup), \(Machine.text.escapedForMarkup),
      atto \(Version.number)</p>
      \(summary)
      \(body)
      <h2>How to read this</h2>
      <p>Values are counted by their receiver, and checked by their numbers if they have any. Values
      during the warm-up do not count. Percentiles are accurate to 1 %. CPU time is that of the
      measuring process, for both directions. Jitter is the mean difference between consecutive
      latencies.</p>
      </main></body></html>

      """
  }

  private var summary: String {
    let head = BenchResult.head.map { "<th>\($0.escapedForMarkup)</th>" }.joined()
    let rows = sections.map { section in
      "<tr>" + section.result.cells.map { "<td>\($0.escapedForMarkup)</td>" }.joined() + "</tr>"
    }
    return "<div class=\"scroll\"><table class=\"numbers\"><thead><tr>\(head)</tr></thead><tbody>"
      + "\(rows.joined())</tbody></table></div>"
  }

  private func section(_ result: BenchResult, _ measured: Measurement) -> String {
    let latency = result.latencyMicroseconds
    let list = facts(result).map {
      "<dt>\($0.escapedForMarkup)</dt><dd>\($1.escapedForMarkup)</dd>"
    }.joined()
    let partial = result.error.map {
      "<p class=\"partial\">Interrupted, partial result: \($0.escapedForMarkup)</p>"
    }
    let tiles = [
      (Self.grouped(result.rate), "per second"),
      (Self.grouped(result.bytesPerSecond), "bytes/s"),
      (Decimal.text(latency.p50, places: 1), "p50 µs"),
      (Decimal.text(latency.p99, places: 1), "p99 µs"),
      (Decimal.text(latency.max, places: 1), "max µs"),
    ].map { "<div class=\"tile\"><b>\($0.0)</b><span>\($0.1)</span></div>" }.joined()
    return """
      <section><h2>\(result.test)</h2>\(partial ?? "")
      <div class="tiles">\(tiles)</div>
      <h3>Rate over time</h3>
      \(BenchChart.rate(measured.rates, elapsed: measured.elapsed, hasOctets: result.size > 0))
      <h3>Latency: \(result.latencyOf.escapedForMarkup)</h3>
      \(BenchChart.histogram(measured.latencies))
      <dl>\(list)</dl></section>
      """
  }

  private func facts(_ result: BenchResult) -> [(String, String)] {
    var facts = [
      ("values", "\(result.count) in \(Decimal.text(result.seconds, places: 2)) s"),
      ("ATT_MTU", "\(result.mtu)"), ("octets per value", result.sizeText),
      ("counted at", result.countedAt), ("latency of", result.latencyOf),
    ]
    if let lost = result.lost {
      let others = "\(result.doubled ?? 0), \(result.outOfOrder ?? 0)"
      facts.append(("lost, doubled, out of order", "\(lost), \(others)"))
    }
    if let link = result.link {
      let told = link.source == "kernel" ? " (reported by the kernel)" : ""
      facts.append(("link", (link.parameters ?? link.phy ?? "unknown") + told))
      if let limit = link.limitBytesPerSecond, let share = link.shareOfLimit {
        facts.append(("limit of the link", "\(Decimal.text(limit, places: 0)) B/s"))
        facts.append(("share of the limit", "\(Decimal.text(share * 100, places: 1)) %"))
      }
    }
    if let compared = result.compared {
      let ratios = "x\(compared.rate), x\(compared.p50), x\(compared.p99)"
      facts.append(("rate, p50, p99 compared with before", ratios))
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

  private static let style = """
    :root{--bg:#fff;--fg:#1b1f24;--soft:#5b6470;--line:#d9dee4;--card:#f5f7f9;--mark:#2463c4;
    --fill:#2463c433;--second:#b4540a;--bad:#b3261e}
    @media(prefers-color-scheme:dark){:root{--bg:#14171a;--fg:#e6e9ec;--soft:#9aa4af;
    --line:#343b43;--card:#1d2126;--mark:#79aefc;--fill:#79aefc40;--second:#f0a35e;--bad:#ff8f87}}
    body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}
    main{max-width:60rem;margin:0 auto;padding:1.5rem}
    h1{font-size:1.4rem;margin:0;overflow-wrap:anywhere} h2{font-size:1.15rem;margin:2rem 0 .5rem}
    h3{font-size:.95rem;color:var(--soft);font-weight:600;margin:1.2rem 0 .3rem}
    .sub{color:var(--soft);margin:.2rem 0 1.2rem}
    section{border-top:1px solid var(--line)}
    .scroll{overflow-x:auto} table{border-collapse:collapse;font-variant-numeric:tabular-nums}
    th,td{padding:.25rem .7rem;text-align:right;border-bottom:1px solid var(--line);
    white-space:nowrap}
    th:first-child,td:first-child{text-align:left;padding-left:0} th{color:var(--soft);
    font-weight:600;font-size:.85rem}
    .tiles{display:flex;flex-wrap:wrap;gap:.7rem}
    .tile{background:var(--card);border-radius:.5rem;padding:.6rem .9rem;min-width:6rem}
    .tile b{display:block;font-size:1.25rem;font-variant-numeric:tabular-nums}
    .tile span{color:var(--soft);font-size:.85rem}
    dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1.2rem;margin:1rem 0}
    dt{color:var(--soft)} dd{margin:0;overflow-wrap:anywhere}
    .partial{color:var(--bad);font-weight:600}
    svg{width:100%;height:auto;display:block}
    svg text{fill:var(--soft);font:12px system-ui,sans-serif}
    svg .grid{stroke:var(--line)} svg .line{stroke:var(--mark);fill:none;stroke-width:1.8}
    svg .area{fill:var(--fill)} svg .bar{fill:var(--mark)}
    svg .mark{stroke:var(--second);stroke-dasharray:4 3} svg .name{fill:var(--second)}
    """
}

enum Machine {
  static var text: String {
    var name = utsname()
    uname(&name)
    func string(_ field: some Any) -> String {
      withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
    let cores = sysconf(Int32(_SC_NPROCESSORS_ONLN))
    let parts = [
      processor, "\(cores) \(cores == 1 ? "core" : "cores")",
      "\(string(name.sysname)) \(string(name.release)) \(string(name.machine))",
    ]
    return parts.compactMap(\.self).joined(separator: ", ")
  }

  private static var processor: String? {
    guard let data = try? Data(contentsOf: URL(filePath: "/proc/cpuinfo")) else { return nil }
    let text = String(decoding: data, as: UTF8.self)
    return text.split(separator: "\n").first { $0.hasPrefix("model name") }?
      .split(separator: ":", maxSplits: 1).last
      .map { $0.split(separator: " ").joined(separator: " ") }
  }
}
