import Atto
import AttoATT
import AttoCommandLine
import AttoConformance

/// A decoded PDU: its text, as in `--trace`, and its errors.
struct DecodedPDU {
  let octets: [UInt8]
  let text: String
  let findings: [PDUFinding]

  init(_ octets: [UInt8], mtu: Int?, of exchange: inout ExchangeText, isSent: Bool? = nil) {
    self.octets = octets
    let mtu = mtu ?? .max
    text = exchange.text(octets, mtu: mtu, isSent: isSent)
    findings = PDUFinding.findings(in: octets, mtu: mtu)
  }

  var hex: String { Shown.pdu(octets) }
}

extension DecodedPDU {
  /// The form of `--json`.
  var json: JSONObject {
    [
      "pdu": Shown.hex(octets), "text": text,
      "findings": findings.isEmpty
        ? nil
        : findings.map { finding -> JSONObject in
          [
            "octet": finding.octet, "text": finding.text, "section": finding.section,
            "malformed": finding.isMalformed,
          ]
        },
    ]
  }
}

struct DecodeOutput {
  let isJSON: Bool
  private let isChecked: Bool
  private(set) var count = 0
  private var wrong = 0

  init(isJSON: Bool, isChecked: Bool) {
    self.isJSON = isJSON
    self.isChecked = isChecked
  }

  /// Shows a PDU and its errors.
  ///
  /// - Parameters:
  ///   - prefix: the text before the octets.
  ///   - fields: further fields of the JSON object.
  mutating func show(_ pdu: DecodedPDU, prefix: String = "", json fields: JSONObject = [:]) {
    add(pdu)
    if isJSON { return Terminal.print(json: pdu.json.adding(fields)) }
    Terminal.print("\(prefix)\(pdu.hex)  \(pdu.text)")
    for finding in pdu.findings { Terminal.print("      \(finding)") }
  }

  mutating func add(_ pdu: DecodedPDU) {
    count += 1
    if !pdu.findings.isEmpty { wrong += 1 }
  }

  /// - Throws: `CheckFailure` if a PDU was wrong, with `--check`.
  func finish() throws {
    guard isChecked, wrong > 0 else { return }
    throw CheckFailure(
      message: "\(wrong) of \(Shown.count(count, "PDU")) \(wrong == 1 ? "breaks" : "break") a rule")
  }
}
