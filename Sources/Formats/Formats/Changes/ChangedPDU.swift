import AttoATT
import AttoText

/// What a rule has done with a PDU.
package struct ChangedPDU: Sendable, Equatable {
  /// The line of the rule.
  package let line: Int
  /// What is passed on, in this order.
  package var passed: [[UInt8]] = []
  /// What the sender gets.
  package var answer: [UInt8]?
  /// How long it is held back, with all that follows in its direction.
  package var delay: Duration?
  /// For people: `dropped`, `delayed by 0.2 seconds`.
  package let text: String
}

/// The rules as they apply to the PDUs of one client.
package struct ChangeTurns: Sendable {
  private let changes: PDUChanges
  /// How often each rule has matched.
  private var counts: [Int]

  package init(_ changes: PDUChanges) {
    self.changes = changes
    counts = Array(repeating: 0, count: changes.rules.count)
  }

  /// Returns what happens to a PDU; nil: it is passed on unchanged.
  package mutating func change(_ pdu: [UInt8], isFromClient: Bool) -> ChangedPDU? {
    var isDecided = false
    var changed: ChangedPDU?
    for (index, rule) in changes.rules.enumerated()
    where rule.isFromClient == isFromClient && rule.pattern.matches(pdu) {
      counts[index] += 1
      guard !isDecided, rule.turns.includes(counts[index]) else { continue }
      isDecided = true
      changed = rule.changed(pdu)
    }
    return changed
  }
}

extension PDUChanges.Turns {
  fileprivate func includes(_ number: Int) -> Bool {
    switch self {
    case .all: true
    case .first: number == 1
    case .after(let count): number > count
    case .every(let count): number % count == 0
    }
  }
}

extension PDUChanges.Rule {
  /// nil if the PDU is as the rule wants it already, or cannot be answered as the rule says.
  fileprivate func changed(_ pdu: [UInt8]) -> ChangedPDU? {
    switch action {
    case .drop: return ChangedPDU(line: line, text: "dropped")
    case .delay(let time):
      return ChangedPDU(line: line, passed: [pdu], delay: time, text: "delayed by \(time)")
    case .replace(let pattern):
      let new = pattern.filled(from: pdu)
      guard new != pdu else { return nil }
      return ChangedPDU(line: line, passed: [new], text: "replaced by \(Hex.text(new))")
    case .copies(let count):
      return ChangedPDU(
        line: line, passed: Array(repeating: pdu, count: count), text: "passed \(count) times")
    case .answer(let answer):
      return ChangedPDU(line: line, answer: answer, text: "answered with \(Hex.text(answer))")
    case .error(let code):
      // The error of a request that names no handle has the handle 0x0000. Vol 3, Part F, 3.4.1.1.
      guard let opcode = pdu.first, Opcode(opcode).kind == .request else { return nil }
      let namesHandle = pdu.count >= 3 && opcode != Opcode.exchangeMTURequest.rawValue
      let answer = [0x01, opcode] + (namesHandle ? pdu[1...2] : [0, 0]) + [code]
      return ChangedPDU(line: line, answer: answer, text: "answered with \(Hex.text(answer))")
    case .mtu(let limit):
      let mtu = UInt16(pdu[1]) | UInt16(pdu[2]) << 8
      guard mtu > limit else { return nil }
      let new = [pdu[0], UInt8(limit & 0xFF), UInt8(limit >> 8)]
      return ChangedPDU(line: line, passed: [new], text: "lowered the MTU \(mtu) to \(limit)")
    }
  }
}

extension Transcript.Pattern {
  /// The octets, with those of a PDU where any may be.
  fileprivate func filled(from pdu: [UInt8]) -> [UInt8] {
    var filled: [UInt8] = []
    for (index, octet) in octets.enumerated() {
      // A PDU that is shorter has nothing to put there.
      guard let octet = octet ?? (index < pdu.count ? pdu[index] : nil) else { break }
      filled.append(octet)
    }
    return isOpen ? filled + pdu.dropFirst(octets.count) : filled
  }
}
