extension BenchChart {
  /// The mean time of each stage, one after the other on a line of time. The stages of an earlier run are a second
  /// bar. The table below the chart has the names of the colours.
  static func stages(_ now: BenchStages, before: BenchStages?) -> String {
    let runs = [("this run", now)] + (before.map { [("before", $0)] } ?? [])
    let most = nice(runs.map(\.1.totalMicroseconds).max() ?? 0)
    let (start, thick, step) = (8.0, 26.0, 64.0)
    let base = step * Double(runs.count)
    func x(_ microseconds: Double) -> Double { start + microseconds / most * (right - start) }
    var svg = open("mean time of each stage", height: base + 28)
    for tick in 0...4 {
      let value = most * Double(tick) / 4
      svg += "<line class=\"grid\" x1=\"\(fixed(x(value)))\" x2=\"\(fixed(x(value)))\" y1=\"20\" "
      svg += "y2=\"\(fixed(base))\"/>"
      let text = tick == 0 ? "0" : time(value * 1000)
      svg += label(x(value), base + 20, text, "middle")
    }
    for (row, run) in runs.enumerated() {
      let y = step * Double(row) + 26
      var begin = 0.0
      if runs.count > 1 { svg += label(start, y - 8, run.0, "start") }
      for part in run.1.parts {
        let wide = x(begin + part.latencyMicroseconds.mean) - x(begin)
        svg += "<rect class=\"stage \(part.stage.rawValue)\" x=\"\(fixed(x(begin)))\" "
        svg += "y=\"\(fixed(y))\" width=\"\(fixed(wide))\" height=\"\(fixed(thick))\"/>"
        let share = BenchStages.percent(part.share)
        if wide > Double(share.count) * letter {
          svg += label(x(begin) + wide / 2, y + 18, share, "middle", "share")
        }
        begin += part.latencyMicroseconds.mean
      }
    }
    return svg + "</svg>"
  }
}

extension Stage {
  /// The fills of the chart and the marks in the table. All are light enough for black letters.
  static let style = """
    .queue{--c:#a9b4c0}.kernel{--c:#7db1f0}.controller{--c:#f2b134}.peer{--c:#57c79b}
    .away{--c:#57c79b}.outside{--c:#57c79b}.delivery{--c:#e08e79}.application{--c:#cba6dd}
    .swatch{display:inline-block;width:.8em;height:.8em;margin-right:.5em;border-radius:.15em;
    background:var(--c)} svg .stage{fill:var(--c);stroke:var(--bg)} svg text.share{fill:#14171a}
    td:has(.swatch){white-space:normal;min-width:9em}
    """
}
