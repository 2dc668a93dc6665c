import AttoATT

/// A position in a text file: line and column, both from 1. Columns count Unicode scalars.
public struct TextPosition: Hashable, Sendable {
  /// The line, from 1.
  public var line: Int
  /// The column, from 1.
  public var column: Int

  package init(line: Int, column: Int) { (self.line, self.column) = (line, column) }
}

extension TextPosition {
  /// The position of the byte at `offset` in a UTF-8 text; past the end, that of the end.
  package init(of offset: Int, in bytes: [UInt8]) {
    self.init(line: 1, column: 1)
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

/// A mistake in a text, at an offset in bytes.
package struct TextMistake: Error, Equatable {
  package var offset: Int
  package var expected: String
  package var found: String

  /// Checks the length and the encoding of a text.
  package static func check(_ bytes: [UInt8]) throws(TextMistake) {
    guard bytes.count <= FileBytes.limit else {
      throw TextMistake(
        offset: 0, expected: "at most \(FileBytes.limit) bytes", found: "\(bytes.count)")
    }
    do throws(UTF8.ValidationError) {
      _ = try UTF8Span(validating: bytes.span)
    } catch {
      throw TextMistake(
        offset: error.byteOffsets.lowerBound, expected: "UTF-8 text",
        found: "the byte 0x" + Hex.text(bytes[error.byteOffsets].prefix(1)))
    }
  }
}
