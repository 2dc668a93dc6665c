import AttoFormats
import AttoGateway
import AttoText

extension JSON {
  /// The text in UTF-8.
  var octets: [UInt8] { Array(text.utf8) }
}

extension JSON {
  /// The content of a field of a decoded value, in the form of the command's `--json`.
  init(_ content: DecodedValue.Content) {
    self =
      switch content {
      case .number(let number):
        number.integer.map { .number("\($0)") } ?? .number("\(number.double)")
      case .double(let number): .number("\(number)")
      case .hex(let number, _): .number("\(number)")
      case .word(let word): .string(word)
      case .words(let words): .array(words.map { .string($0) })
      case .text(let text): .string(text)
      case .list(let contents): .array(contents.map { JSON($0) })
      case .unknown: .null
      }
  }
}
