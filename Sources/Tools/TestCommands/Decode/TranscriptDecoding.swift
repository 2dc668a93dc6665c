import Atto
import AttoCommandLine
import AttoFormats

/// `decode FILE.att`: a transcript, line by line.
enum TranscriptDecoding {
  static func run(_ transcript: Transcript, mtu: Int?, _ output: inout DecodeOutput) {
    for test in transcript.cases {
      if !output.isJSON {
        Terminal.print("# \(test.name)" + (test.title.isEmpty ? "" : "  \(test.title)"))
      }
      var exchanges: [Int: ExchangeText] = [:]
      for step in test.steps { show(step, of: test, mtu, &exchanges, &output) }
    }
  }

  private static func show(
    _ step: Transcript.Step, of test: Transcript.Case, _ mtu: Int?,
    _ exchanges: inout [Int: ExchangeText], _ output: inout DecodeOutput
  ) {
    let prefix = String(step.line).padded(left: 5) + " "
    let place: JSONObject = ["case": test.name, "line": step.line]
    func show(_ text: String, json: JSONObject) {
      if output.isJSON { Terminal.print(json: json) } else { Terminal.print(prefix + text) }
    }
    let bearer = step.bearer == 0 ? "" : "\(step.bearer)"
    let numbered: JSONObject = step.bearer == 0 ? [:] : ["bearer": step.bearer]
    func show(_ pdu: [UInt8], _ arrow: String, _ direction: String) {
      output.show(
        DecodedPDU(
          pdu, mtu: mtu, of: &exchanges[step.bearer, default: ExchangeText()], isSent: arrow == ">"),
        prefix: "\(prefix)\(arrow)\(bearer) ",
        json: place.adding(["direction": direction]).adding(numbered))
    }
    switch step.action {
    case .client(let octets): show(octets, ">", "toServer")
    case .server(let pattern):
      if let octets = pattern.bytes { return show(octets, "<", "toClient") }
      show(
        "<\(bearer) \(pattern)  any PDU like this",
        json: place.adding(["direction": "toClient", "pattern": "\(pattern)"]).adding(numbered))
    default: show("\(step)", json: place.adding(["step": "\(step)"]))
    }
  }
}
