import ATT

/// What is wrong with a PDU by itself, whatever was said before it.
///
/// # Theory
///
/// The decoder of module ATT says whether a PDU has its form, and no more: it stands in the hot
/// path. This says which octet is the first that is wrong, what the specification wants there, and
/// where that is written; and what is wrong with PDUs that have their form, such as a range that
/// ends before it begins. A test holds the two against each other.
public struct PDUFinding: Equatable, Sendable {
  /// Where, counted from 0, the opcode: the octet that is wrong or, where some are missing, the
  /// first of those.
  public let octet: Int
  /// What is wrong, as a clause.
  public let text: String
  /// Where the specification says so.
  public let section: String
  /// Whether the PDU has not its form, so that a receiver must not act on any of it.
  public let isMalformed: Bool

  /// All that is wrong with a PDU; a PDU that has not its form has one finding that says so.
  ///
  /// - Parameters:
  ///   - octets: the whole PDU.
  ///   - mtu: ATT_MTU, if it is known.
  public static func findings(in octets: [UInt8], mtu: Int = .max) -> [PDUFinding] {
    guard let first = octets.first else {
      return [malformed(0, "there is no opcode", "3.3.1")]
    }
    guard octets.count <= mtu else {
      return [
        malformed(mtu, "it has \(octets.count) octets, and ATT_MTU is \(mtu)", "3.2.8")
      ]
    }
    guard let shape = PDUShape(Opcode(first)) else { return [] }
    var found: [PDUFinding] = []
    if let fault = shape.fault(in: octets) {
      found.append(malformed(fault.octet, fault.text, shape.section))
    } else {
      found = contents(of: octets, shape)
    }
    return found
  }

  static func malformed(_ octet: Int, _ text: String, _ section: String) -> PDUFinding {
    PDUFinding(
      octet: octet, text: text, section: "Vol 3, Part F, \(section)", isMalformed: true)
  }

  static func wrong(_ octet: Int, _ text: String, _ section: String) -> PDUFinding {
    PDUFinding(
      octet: octet, text: text, section: "Vol 3, Part F, \(section)", isMalformed: false)
  }
}

extension PDUFinding: CustomStringConvertible {
  /// `octet 1: the handle is missing (Vol 3, Part F, 3.4.4.3)`.
  public var description: String { "octet \(octet): \(text) (\(section))" }
}
