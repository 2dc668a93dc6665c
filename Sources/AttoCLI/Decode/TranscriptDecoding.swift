import Atto
import Files

/// `decode FILE.att`: a transcript, line by line.
enum TranscriptDecoding {
  static func run(_ transcript: Transcript, mtu: Int?, _ output: inout DecodeOutput) throws {
    for test in transcript.cases {
      if !output.isJSON {
        Terminal.print("# \(test.name)" + (test.title.isEmpty ? "" : "  \(test.title)"))
      }
      for step in test.steps { try show(step, of: test, mtu, &output) }
    }
  }

  private static func show(
    _ step: Transcript.Step, of test: Transcript.Case, _ mtu: Int?, _ output: inout DecodeOutput
  ) throws {
    let number = String(step.line)
    let prefix = String(repeating: " ", count: max(0, 5 - number.count)) + number + " "
    let pdu: [UInt8]
    let isFromClient: Bool
    switch step.action {
    case .client(let octets): (pdu, isFromClient) = (octets, true)
    case .server(let pattern):
      guard let octets = pattern.bytes else {
        guard output.isJSON else {
          return Terminal.print("\(prefix)< \(pattern)  any PDU like this")
        }
        var line = Self.line(step, test)
        (line.direction, line.pattern) = ("toClient", "\(pattern)")
        return try Terminal.print(json: line)
      }
      (pdu, isFromClient) = (octets, false)
    default:
      guard output.isJSON else { return Terminal.print("\(prefix)\(step.action)") }
      var line = Self.line(step, test)
      line.step = "\(step.action)"
      return try Terminal.print(json: line)
    }
    try output.show(
      DecodedPDU(pdu, mtu: mtu), prefix: prefix + (isFromClient ? "> " : "< ")
    ) { line in
      (line.case, line.line) = (test.name, step.line)
      line.direction = isFromClient ? "toServer" : "toClient"
    }
  }

  private static func line(_ step: Transcript.Step, _ test: Transcript.Case) -> DecodedJSON {
    var line = DecodedJSON()
    (line.case, line.line) = (test.name, step.line)
    return line
  }
}
