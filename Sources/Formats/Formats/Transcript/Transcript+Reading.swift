import AttoText

extension Transcript {
  /// Reads a transcript file. Limits: 4 MiB, 100,000 lines, 4096 octets in a PDU.
  ///
  /// - Throws: ``TranscriptError`` for the first mistake.
  public init(contentsOfFile path: String) throws(TranscriptError) {
    try self.init(text: try TranscriptError.octets(ofFile: path), file: path)
  }

  /// Reads a transcript from UTF-8 text.
  ///
  /// - Parameter file: the name of the file in messages.
  /// - Throws: ``TranscriptError`` for the first mistake.
  public init(text bytes: [UInt8], file: String? = nil) throws(TranscriptError) {
    self = try TranscriptError.naming(file) { () throws(TranscriptError) in
      try TranscriptParser.parse(bytes)
    }
  }
}

/// A mistake in a transcript.
public struct TranscriptError: Error, Equatable, Sendable {
  /// The name of the file; nil for text without a name.
  public var file: String?
  /// The position in the text; nil if the file cannot be read.
  public var position: TextPosition?
  /// The correct form, as a noun phrase.
  public var expected: String
  /// The actual text, or why the file cannot be read.
  public var found: String
}

extension TranscriptError {
  /// Reads a file of lines.
  static func octets(ofFile path: String) throws(TranscriptError) -> [UInt8] {
    do throws(FileBytes.Failure) {
      return try FileBytes.read(path)
    } catch {
      throw TranscriptError(file: path, expected: "a readable file", found: error.reason)
    }
  }

  /// Returns what `body` returns, and adds the name of the file to its mistake.
  static func naming<Value>(
    _ file: String?, _ body: () throws(TranscriptError) -> Value
  ) throws(TranscriptError) -> Value {
    do throws(TranscriptError) {
      return try body()
    } catch {
      var mistake = error
      mistake.file = file
      throw mistake
    }
  }
}

extension TranscriptError: CustomStringConvertible {
  /// `read.att:3:6: expected two hexadecimal digits, found "0g"`, or
  /// `cannot read read.att: No such file or directory`.
  public var description: String {
    let file = file ?? "transcript"
    guard let position else { return "cannot read \(file): \(found)" }
    return "\(file):\(position): expected \(expected), found \(found)"
  }
}
