import Atto
import AttoFormats

/// `decode FILE.att`: a transcript, line by line.
enum TranscriptDecoding {
  static func run(_ transcript: Transcript, mtu: Int?, _ output: inout DecodeOutput) {
    for test in transcript.cases {
      if !output.isJSON {
        Terminal.print("# \(test.name)" + (test.title.isEmpty ? "" : "  \(test.title)"))
      }
      var exchange = ExchangeText()
      for step in test.steps { show(step, of: test, mtu, &exchange, &output) }
    }
  }

  private static func show(
    _ step: Transcript.Step, of test: Transcript.Case, _ mtu: Int?,
    _ exchange: inout ExchangeText, _ output: inout DecodeOutput
  ) {
    let prefix = String(step.line).padded(left: 5) + " "
    let place: JSONObject = ["case": test.name, "line": step.line]
    func show(_ text: String, json: JSONObject) {
      if output.isJSON { Terminal.print(json: json) } else { Terminal.print(prefix + text) }
    }
    func show(_ pdu: [UInt8], _ arrow: String, _ direction: String) {
      output.show(
        DecodedPDU(pdu, mtu: mtu, of: &exchange, isSent: arrow == "> "), prefix: prefix + arrow,
        json: place.adding(["direction": direction]))
    }
    switch step.action {
    case .client(let octets): show(octets, "> ", "toServer")
    case .server(let pattern):
      if let octets = pattern.bytes { return show(octets, "< ", "toClient") }
      show(
        "< \(pattern)  any PDU like this",
        json: place.adding(["direction": "toClient", "pattern": "\(pattern)"]))
    default: show("\(step.action)", json: place.adding(["step": "\(step.action)"]))
    }
  }
}
