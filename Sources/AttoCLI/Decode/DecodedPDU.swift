import Atto
import Conformance

/// A PDU as `decode` shows it: what `--trace` says of it, and each thing that is wrong with it.
struct DecodedPDU {
  let octets: [UInt8]
  let text: String
  let findings: [PDUFinding]

  init(_ octets: [UInt8], mtu: Int?) {
    self.octets = octets
    let mtu = mtu ?? .max
    text = PDU(octets.span.bytes, mtu: mtu).summary
    findings = PDUFinding.findings(in: octets, mtu: mtu)
  }

  var hex: String { octets.isEmpty ? "(empty)" : Shown.hex(octets) }
}

/// One PDU of `decode --json`. What does not apply is left out.
struct DecodedJSON: Encodable {
  struct Finding: Encodable {
    let octet: Int
    let text: String
    let section: String
    let malformed: Bool
  }

  var record: Int?
  var line: Int?
  var time: Double?
  var adapter: Int?
  var connection: Int?
  var incarnation: Int?
  var channel: Int?
  var direction: String?
  /// Of a transcript.
  var `case`: String?
  var pdu: String?
  var pattern: String?
  var step: String?
  var text: String?
  var findings: [Finding]?

  init() {}

  init(_ pdu: DecodedPDU) {
    self.pdu = Shown.hex(pdu.octets)
    text = pdu.text
    guard !pdu.findings.isEmpty else { return }
    findings = pdu.findings.map {
      Finding(octet: $0.octet, text: $0.text, section: $0.section, malformed: $0.isMalformed)
    }
  }
}

/// Where `decode` puts what it has decoded, and how much of it was wrong.
struct DecodeOutput {
  let isJSON: Bool
  private let isChecked: Bool
  private(set) var count = 0
  private var wrong = 0

  init(_ arguments: Arguments) {
    isJSON = arguments.has("json")
    isChecked = arguments.has("check")
  }

  /// Shows a PDU and what is wrong with it.
  ///
  /// - Parameters:
  ///   - prefix: what goes before the octets in the form for people.
  ///   - json: adds what that form has beside the PDU.
  mutating func show(
    _ pdu: DecodedPDU, prefix: String = "", json: (inout DecodedJSON) -> Void = { _ in }
  ) throws {
    count += 1
    if !pdu.findings.isEmpty { wrong += 1 }
    if isJSON {
      var line = DecodedJSON(pdu)
      json(&line)
      return try Terminal.print(json: line)
    }
    Terminal.print("\(prefix)\(pdu.hex)  \(pdu.text)")
    for finding in pdu.findings { Terminal.print("      \(finding)") }
  }

  /// Notes a PDU that goes elsewhere.
  mutating func take(_ pdu: DecodedPDU) {
    count += 1
    if !pdu.findings.isEmpty { wrong += 1 }
  }

  /// - Throws: `CheckFailure` if something was wrong and `--check` asks for that.
  func finish() throws {
    guard isChecked, wrong > 0 else { return }
    throw CheckFailure(
      message: "\(wrong) of \(Shown.count(count, "PDU")) \(wrong == 1 ? "breaks" : "break") a rule")
  }
}
