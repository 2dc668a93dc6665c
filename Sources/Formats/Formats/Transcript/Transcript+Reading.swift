import AttoText

extension Transcript {
  /// Reads a transcript file. Limits: 4 MiB, 100,000 lines, 4096 octets in a PDU.
  ///
  /// - Throws: ``TranscriptError`` for the first mistake.
  public init(contentsOfFile path: String) throws(TranscriptError) {
    let bytes: [UInt8]
    do throws(FileBytes.Failure) {
      bytes = try FileBytes.read(path)
    } catch {
      throw TranscriptError(file: path, expected: "a readable file", found: error.reason)
    }
    try self.init(text: bytes, file: path)
  }

  /// Reads a transcript from UTF-8 text.
  ///
  /// - Parameter file: the name of the file in messages.
  /// - Throws: ``TranscriptError`` for the first mistake.
  public init(text bytes: [UInt8], file: String? = nil) throws(TranscriptError) {
    do throws(TranscriptError) {
      self = try TranscriptParser.parse(bytes)
    } catch {
      var mistake = error
      mistake.file = file
      throw mistake
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

extension TranscriptError: CustomStringConvertible {
  /// `read.att:3:6: expected two hexadecimal digits, found "0g"`, or
  /// `cannot read read.att: No such file or directory`.
  public var description: String {
    let file = file ?? "transcript"
    guard let position else { return "cannot read \(file): \(found)" }
    return "\(file):\(position): expected \(expected), found \(found)"
  }
}
