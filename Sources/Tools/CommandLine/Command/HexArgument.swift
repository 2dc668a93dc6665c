import AttoATT

/// Reads octets as pairs of hex digits: `0a1500`, `0A 15 00`, `0a:15:00`, `0x0a1500`.
///
/// Spaces or single colons may separate groups of pairs, and each group may begin with 0x. The text
/// without any character means no octets.
package func octets(argument text: some StringProtocol) throws(UsageError) -> [UInt8] {
  if text.isEmpty { return [] }
  var octets: [UInt8] = []
  let words = text.split(whereSeparator: \.isWhitespace)
  for group in words.flatMap({ $0.split(separator: ":", omittingEmptySubsequences: false) }) {
    let isPrefixed = group.hasPrefix("0x") || group.hasPrefix("0X")
    let digits = isPrefixed ? group.dropFirst(2) : group[...]
    guard !digits.isEmpty, let pairs = Hex.octets(digits.utf8) else { throw .notHex(text) }
    octets += pairs
  }
  guard !words.isEmpty else { throw .notHex(text) }
  return octets
}

extension UsageError {
  fileprivate static func notHex(_ text: some StringProtocol) -> UsageError {
    let shown = text.count > 64 ? text.prefix(64) + "..." : String(text)
    return UsageError(
      "invalid hex \"\(shown)\": expected pairs of digits, such as 0a15, 0a:15 or 0x0a15",
      hint: "the empty value is \"\"")
  }
}
