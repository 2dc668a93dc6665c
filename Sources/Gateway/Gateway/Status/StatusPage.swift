import Atto
import AttoText

extension GatewayStatus {
  /// A page for browsers, which asks for itself again every five seconds. It needs no scripts.
  package var page: String {
    let summary =
      "Up for \(Self.words(uptime)), \(memory / 1_048_576) MiB of memory, "
      + "\(slots.allocated.count) of \(slots.limit) connections in use."
    var lists = ""
    for adapter in adapters {
      lists += Self.item(
        "\(adapter.name)", "\(adapter.phase.words), devices on the air: \(adapter.present)",
        isGood: adapter.phase == .running)
    }
    for (name, status) in frontEnds {
      lists += Self.item(name, status.words, isGood: status.isHealthy)
    }
    if let storeFault { lists += Self.item("store", storeFault, isGood: false) }
    for name in asking { lists += Self.item(name, "pairs and waits for an answer", isGood: true) }
    let pairing = answersAtPage ? "<a href=\"/pair\">Pairing</a> · " : ""
    return Self.page(
      name, refreshes: true,
      """
      <p>\(summary.escapedForMarkup)</p>
      <ul>\(lists)</ul>
      \(Self.table(Self.heads, devices.map(\.row)))
      <p>\(pairing)<a href="/heard">Other devices in range</a> · <a href="/metrics">Metrics</a> ·
      <a href="/status.json">JSON</a></p>
      """)
  }

  /// A page with a title and this markup.
  static func page(_ name: String, _ more: String = "", refreshes: Bool, _ body: String) -> String {
    let title = "\(more)\(name) · atto-gateway".escapedForMarkup
    let refresh = refreshes ? "\n<meta http-equiv=\"refresh\" content=\"5\">" : ""
    return """
      <!DOCTYPE html>
      <html lang="en"><head><meta charset="utf-8"><title>\(title)</title>
      <meta name="viewport" content="width=device-width, initial-scale=1">\(refresh)
      <style>\(style)</style></head><body>
      <h1>\(title)</h1>
      \(body)
      </body></html>

      """
  }

  /// A table, whose rows are lists on a narrow screen.
  ///
  /// - Parameter rows: a class, the cells as text, and markup below them for each.
  static func table(_ heads: [String], _ rows: [Row]) -> String {
    let head = heads.map { "<th scope=\"col\">\($0.escapedForMarkup)</th>" }.joined()
    let body = rows.map { row in
      let cells = zip(heads, row.cells).map {
        "<td data-head=\"\($0.escapedForMarkup)\">\($1.escapedForMarkup)</td>"
      }
      let more = row.more.map {
        "<tr class=\"more\"><td colspan=\"\(heads.count)\">\($0)</td></tr>"
      }
      return "<tr class=\"\(row.kind)\">\(cells.joined())</tr>\(more ?? "")"
    }
    return
      "<table><thead><tr>\(head)</tr></thead>\n<tbody>\(body.joined(separator: "\n"))</tbody></table>"
  }

  struct Row {
    var kind: String
    var cells: [String]
    var more: String?
  }

  private static func item(_ name: String, _ text: String, isGood: Bool) -> String {
    "<li class=\"\(isGood ? "good" : "bad")\"><b>\(name.escapedForMarkup)</b> "
      + "\(text.escapedForMarkup)</li>\n"
  }

  private static let style = """
    :root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;\
    max-width:72rem;padding:0 1rem;overflow-wrap:anywhere}h1{font-size:1.4rem}\
    table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .8rem .3rem 0;\
    border-top:1px solid #8884;vertical-align:top}th{font-size:.75rem;overflow-wrap:normal}\
    .more td{border:0;padding-top:0}pre{white-space:pre-wrap;margin:0;padding:.5rem;background:#8882}\
    .bad b::after{content:" (failing)";color:#c33}\
    .connected td:nth-child(2){color:#284}.waiting td:nth-child(2){color:#a60}\
    input,button{font:inherit;max-width:100%}\
    @media(max-width:60rem){thead{display:none}table,tbody,tr,td{display:block}\
    td{border:0;padding:.1rem 0}tr{border-top:1px solid #8884;padding:.4rem 0}.more{border:0}\
    td[data-head]::before{content:attr(data-head) " ";font-size:.75rem;font-weight:bold}}
    """
}

extension GatewayStatus.DeviceStatus {
  fileprivate var row: GatewayStatus.Row {
    GatewayStatus.Row(kind: state.word, cells: cells, more: advice?.escapedForMarkup)
  }
}
