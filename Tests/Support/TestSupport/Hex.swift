import AttoATT

/// Octets from pairs of hexadecimal digits, with or without white space between them.
package func octets(_ text: String) -> [UInt8] { Hex.octets(text.utf8, separators: " \n")! }

/// Pairs of lowercase hexadecimal digits, separated by spaces.
package func hexText(_ octets: some Sequence<UInt8>) -> String { Hex.text(octets, separator: " ") }

/// One octet, repeated, as text.
package func hexText(_ octet: UInt8, times count: Int) -> String {
  hexText(repeatElement(octet, count: count))
}

/// A 16-bit number in the order of the wire, as text.
package func hexText(_ number: Int) -> String {
  hexText([UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)])
}

extension PDUQueue {
  /// Removes all PDUs and returns them as text, in order.
  package mutating func drain() -> [String] {
    var pdus: [String] = []
    var pdu: [UInt8] = []
    while !isEmpty {
      removeFirst(into: &pdu)
      pdus.append(hexText(pdu))
    }
    return pdus
  }
}
