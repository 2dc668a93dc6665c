import AttoATT
import AttoGATT
import TestSupport
import Testing

extension TestSession {
  /// Plays lines of `> PDU` and `< PDU`: each line of the first kind is sent, and what comes
  /// back must be the lines of the second kind that follow, no more and no less. `#` begins a
  /// comment.
  func play(_ transcript: String, sourceLocation: SourceLocation = #_sourceLocation) {
    var expected: [String] = []
    var got: [String] = []
    var last = ""
    func check() {
      #expect(got == expected, "after \(last)", sourceLocation: sourceLocation)
    }
    for line in transcript.split(separator: "\n") {
      let line = trimmed(line.prefix { $0 != "#" })
      guard let first = line.first else { continue }
      let pdu = octets(String(line.dropFirst()))
      if first == ">" {
        check()
        last = String(line)
        (expected, got) = ([], send(pdu))
      } else {
        #expect(first == "<", "neither > nor <: \(line)", sourceLocation: sourceLocation)
        expected.append(hexText(pdu))
      }
    }
    check()
  }
}

private func trimmed(_ line: Substring) -> Substring {
  var line = line
  while line.first?.isWhitespace == true { line.removeFirst() }
  while line.last?.isWhitespace == true { line.removeLast() }
  return line
}
