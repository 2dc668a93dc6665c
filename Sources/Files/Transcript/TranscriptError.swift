/// A mistake in a transcript: where it is, what should stand there, and what does.
public struct TranscriptError: Error, Equatable, Sendable {
  /// The file as the caller named it; nil for bytes without a name.
  public var file: String?
  /// nil where the file could not be read at all.
  public var position: TextPosition?
  /// What would have been right, as a clause.
  public var expected: String
  /// What is there instead.
  public var found: String
}

extension TranscriptError: CustomStringConvertible {
  /// `read.att:3:6: expected two hexadecimal digits, found "0g"`.
  public var description: String {
    var text = file ?? "transcript"
    if let position { text += ":\(position)" }
    return text + ": expected \(expected), found \(found)"
  }
}
