package enum Columns {
  package static func print(_ head: [String], _ rows: [[String]], isNumeric: Bool) {
    for line in lines(head, rows, isNumeric: isNumeric) { Terminal.print(line) }
  }

  /// The lines of a table.
  ///
  /// - Parameter isNumeric: whether to align all but the first column to the right.
  package static func lines(_ head: [String], _ rows: [[String]], isNumeric: Bool) -> [String] {
    let all = [head] + rows
    let widths = head.indices.map { column in
      all.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
    }
    return all.map { row in
      var line = ""
      for (column, cell) in row.enumerated() {
        let isRight = isNumeric && column > 0
        line += (column == 0 ? "" : "  ")
        line += isRight ? cell.padded(left: widths[column]) : cell.padded(to: widths[column])
      }
      while line.last == " " { line.removeLast() }
      return line
    }
  }
}
