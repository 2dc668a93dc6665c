import AttoFormats

/// The parser of transcripts. The input is a file.
///
/// Rules: a mistake is told with a place in the text and with words; what is read prints as a
/// transcript that reads back as the same one, and prints the same again.
enum TranscriptTarget {
  static func take(_ input: [UInt8]) {
    let transcript: Transcript
    do throws(TranscriptError) {
      transcript = try Transcript(text: input)
    } catch {
      Failure.unless(
        !error.expected.isEmpty && "\(error)".utf8.count < 4096, "a mistake is told with words",
        "\(error)")
      return
    }
    let text = "\(transcript)"
    do throws(TranscriptError) {
      let again = try Transcript(text: Array(text.utf8))
      Failure.unless(again == transcript, "what is printed reads back", text)
      Failure.unless("\(again)" == text, "printing is canonical", text)
    } catch {
      Failure.broken("what is printed reads back", "\(error)\n\(text)")
    }
  }
}
