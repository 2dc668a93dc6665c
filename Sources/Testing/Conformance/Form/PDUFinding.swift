import AttoATT

/// A mistake in a PDU, regardless of the PDUs before it.
///
/// # Theory
///
/// The decoder in AttoATT says only whether a PDU is malformed, because it is on the hot path. This type
/// names the first wrong octet, the correct form, and the section of the specification. It also reports
/// mistakes in well-formed PDUs, such as a range that ends before it starts. A test compares the two.
public struct PDUFinding: Equatable, Sendable {
  /// The index of the first wrong or missing octet; 0 is the opcode.
  public let octet: Int
  /// The mistake, as a clause.
  public let text: String
  /// The section of the specification.
  public let section: String
  /// Whether the PDU is malformed, so that a receiver must ignore all of it.
  public let isMalformed: Bool

  /// Returns all mistakes in a PDU. A malformed PDU has exactly one.
  ///
  /// - Parameters:
  ///   - octets: the whole PDU.
  ///   - mtu: the ATT_MTU, if known.
  public static func findings(in octets: [UInt8], mtu: Int = .max) -> [PDUFinding] {
    guard let first = octets.first else {
      return [malformed(0, "the opcode is missing", "3.3.1")]
    }
    guard octets.count <= mtu else {
      return [malformed(mtu, "the PDU has \(octets.count) octets, but ATT_MTU is \(mtu)", "3.2.8")]
    }
    guard let shape = Opcode(first).definition else { return [] }
    if let fault = shape.fault(in: octets) {
      return [malformed(fault.octet, fault.text, shape.section)]
    }
    return contents(of: octets, shape)
  }

  static func malformed(_ octet: Int, _ text: String, _ section: String) -> PDUFinding {
    PDUFinding(octet: octet, text: text, section: "Vol 3, Part F, \(section)", isMalformed: true)
  }

  static func wrong(_ octet: Int, _ text: String, _ section: String) -> PDUFinding {
    PDUFinding(octet: octet, text: text, section: "Vol 3, Part F, \(section)", isMalformed: false)
  }
}

extension PDUFinding: CustomStringConvertible {
  /// `octet 1: the handle is missing (Vol 3, Part F, 3.4.4.3)`.
  public var description: String { "octet \(octet): \(text) (\(section))" }
}
