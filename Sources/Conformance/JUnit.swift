/// The reports of a run as JUnit's XML, which most build servers read.
public enum JUnit {
  /// The whole document.
  public static func document(_ reports: [CaseReport], suite: String) -> String {
    let broken = reports.count(where: \.isBroken)
    let skipped = reports.count { $0.isLeftOut }
    var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    text += "<testsuite name=\"\(escaped(suite))\" tests=\"\(reports.count)\""
    text += " failures=\"\(broken)\" skipped=\"\(skipped)\">\n"
    for report in reports { text += element(report) }
    return text + "</testsuite>\n"
  }

  private static func element(_ report: CaseReport) -> String {
    let folder = report.name.split(separator: "/").dropLast().joined(separator: ".")
    var text = "  <testcase classname=\"\(escaped(folder))\" name=\"\(escaped(report.name))\""
    text += " time=\"\(seconds(report.duration))\""
    switch report.outcome {
    case .passed: return text + "/>\n"
    case .skipped(let why), .notExercised(let why):
      return text + ">\n    <skipped message=\"\(escaped(why))\"/>\n  </testcase>\n"
    case .unreachable(let why):
      return text + ">\n    <failure message=\"\(escaped(why))\"/>\n  </testcase>\n"
    case .broken(let finding):
      text += ">\n    <failure message=\"\(escaped(finding.happened))\">"
      text += escaped(finding.lines.joined(separator: "\n"))
      for pdu in report.exchange {
        let octets = EncodedText.hex(pdu.octets)
        text += escaped("\n\(pdu.isFromPeer ? "<" : ">") \(octets)  \(pdu.summary)")
      }
      return text + "</failure>\n  </testcase>\n"
    }
  }

  /// With three digits after the point.
  private static func seconds(_ duration: Duration) -> String {
    let milliseconds =
      duration.components.seconds * 1000
      + duration.components.attoseconds / 1_000_000_000_000_000
    let rest = String(milliseconds % 1000)
    return "\(milliseconds / 1000)." + String(repeating: "0", count: 3 - rest.utf8.count) + rest
  }

  /// What XML keeps for itself, and what it does not allow at all.
  private static func escaped(_ text: String) -> String {
    var out = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": out += "&amp;"
      case "<": out += "&lt;"
      case ">": out += "&gt;"
      case "\"": out += "&quot;"
      case "\n": out += "&#10;"
      case _ where scalar.value < 0x20: out += "?"
      default: out.unicodeScalars.append(scalar)
      }
    }
    return out
  }
}

extension CaseReport {
  fileprivate var isLeftOut: Bool {
    switch outcome {
    case .skipped, .notExercised: true
    default: false
    }
  }
}

extension Finding {
  /// What people read, line by line.
  public var lines: [String] {
    var lines = [(line.map { "line \($0): " } ?? "") + happened]
    lines.append("rule: \(rule)" + (section.map { " (\($0))" } ?? ""))
    if let expected { lines.append("expected: \(expected)") }
    if let got { lines.append("got:      \(EncodedText.hex(got))") }
    return lines
  }
}

/// Octets as text.
public enum EncodedText {
  /// Lowercase pairs, parted by spaces; `(empty)` for none.
  public static func hex(_ octets: [UInt8]) -> String {
    guard !octets.isEmpty else { return "(empty)" }
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for octet in octets {
      if !text.isEmpty { text.append(0x20) }
      text += [digits[Int(octet >> 4)], digits[Int(octet & 15)]]
    }
    return String(decoding: text, as: UTF8.self)
  }
}
