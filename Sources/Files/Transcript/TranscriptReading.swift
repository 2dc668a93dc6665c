extension Transcript {
  /// Reads a transcript file. Limits: 4 MiB and those of `TranscriptParser`. Throws at the
  /// first mistake, with its line and column.
  public init(contentsOfFile path: String) throws(TranscriptError) {
    let bytes: [UInt8]
    do throws(FileBytes.Failure) {
      bytes = try FileBytes.read(path)
    } catch {
      throw TranscriptError(
        file: path, expected: "a readable file of at most \(FileBytes.limit) bytes",
        found: error.found)
    }
    try self.init(text: bytes, file: path)
  }

  /// Reads a transcript from UTF-8 text. Throws at the first mistake, with its line and
  /// column; `file` is what messages call the text.
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
