import Atto
import AttoText

extension GatewayStatus {
  /// A page for browsers, which asks for itself again every five seconds. It needs no scripts.
  package var page: String {
    let title = "\(name) · atto-gateway".escapedForMarkup
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
      lists += Self.item(name, status.state, isGood: status.isHealthy)
    }
    if let storeFault { lists += Self.item("store", storeFault, isGood: false) }
    let heads = Self.heads.map { "<th scope=\"col\">\($0.escapedForMarkup)</th>" }.joined()
    let rows = devices.map { device in
      "<tr class=\"\(device.state.word)\">"
        + device.cells.map { "<td>\($0.escapedForMarkup)</td>" }.joined() + "</tr>"
    }
    return """
      <!DOCTYPE html>
      <html lang="en"><head><meta charset="utf-8"><title>\(title)</title>
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta http-equiv="refresh" content="5">
      <style>\(Self.style)</style></head><body>
      <h1>\(title)</h1><p>\(summary.escapedForMarkup)</p>
      <ul>\(lists)</ul>
      <div class="wide"><table><thead><tr>\(heads)</tr></thead>
      <tbody>\(rows.joined(separator: "\n"))</tbody></table></div>
      <p><a href="/metrics">Metrics</a> · <a href="/status.json">JSON</a></p>
      </body></html>

      """
  }

  private static func item(_ name: String, _ text: String, isGood: Bool) -> String {
    "<li class=\"\(isGood ? "good" : "bad")\"><b>\(name.escapedForMarkup)</b> "
      + "\(text.escapedForMarkup)</li>\n"
  }

  private static let style = """
    :root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;\
    max-width:72rem;padding:0 1rem}h1{font-size:1.4rem}.wide{overflow-x:auto}\
    table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .8rem .3rem 0;\
    border-bottom:1px solid #8884}th{font-size:.75rem}.bad b::after{content:" (failing)";color:#c33}\
    .connected td:nth-child(2){color:#284}.waiting td:nth-child(2){color:#a60}
    """
}
