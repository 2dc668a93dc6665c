/// Tables for people.
enum Columns {
  /// Lines with the first column to the left and the others to the right.
  static func text(_ head: [String], _ rows: [[String]]) -> [String] {
    let all = [head] + rows
    let widths = head.indices.map { column in
      all.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
    }
    return all.map { row in
      var line = ""
      for (column, cell) in row.enumerated() {
        let pad = String(repeating: " ", count: widths[column] - cell.count)
        line += column == 0 ? cell + pad : "  " + pad + cell
      }
      while line.last == " " { line.removeLast() }
      return line
    }
  }
}
