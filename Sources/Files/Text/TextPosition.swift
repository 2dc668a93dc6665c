/// A place in a text file: line and column, both from 1. Columns count Unicode scalars.
public struct TextPosition: Hashable, Sendable {
  /// The line, from 1.
  public var line: Int
  /// The column, from 1.
  public var column: Int

  /// One with these values; its properties say what each means.
  public init(line: Int, column: Int) {
    self.line = line
    self.column = column
  }

  /// The place of the byte at `offset` of a UTF-8 text; an offset beyond the end is the end.
  public init(of offset: Int, in bytes: [UInt8]) {
    line = 1
    column = 1
    for byte in bytes.prefix(offset) {
      if byte == 0x0A {
        line += 1
        column = 1
      } else if byte & 0xC0 != 0x80 {
        column += 1
      }
    }
  }
}

extension TextPosition: CustomStringConvertible {
  /// `12:17`, as compilers write it.
  public var description: String { "\(line):\(column)" }
}
