import Atto

/// How the values to write are given on the command line.
package enum ValueNotation: Sendable {
  case hex
  case text
  case unsigned(Int)
  case signed(Int)
  case float(Int)

  /// The options of all notations but hex.
  package static let options: [(option: Option<Bool>, notation: ValueNotation)] =
    [(Option.flag("text", "Values are text, in UTF-8."), .text)]
    + [8, 16, 24, 32, 64].map { bits in
      (
        Option.flag(
          "u\(bits)", "Values are unsigned numbers of \(bits) bits, separated by commas."),
        .unsigned(bits)
      )
    }
    + [8, 16, 24, 32, 64].map { bits in
      (
        Option.flag("i\(bits)", "Values are signed numbers of \(bits) bits, separated by commas."),
        .signed(bits)
      )
    }
    + [32, 64].map { bits in
      (Option.flag("f\(bits)", "Values are floating-point numbers of \(bits) bits."), .float(bits))
    }

  /// The notation that the options state.
  package init(_ arguments: Arguments) throws(UsageError) {
    let given = Self.options.filter { arguments[$0.option] }
    if given.count > 1 {
      let names = given.map { "--" + $0.option.description.name }
      throw UsageError("\(names[0]) cannot be combined with \(names[1])")
    }
    self = given.first?.notation ?? .hex
  }

  /// Reads a value. Numbers are little-endian.
  package func octets(_ text: String) throws(UsageError) -> [UInt8] {
    switch self {
    case .hex: return try AttoCommandLine.octets(argument: text)
    case .text: return Array(text.utf8)
    case .unsigned(let bits): return try numbers(text, bits, isSigned: false)
    case .signed(let bits): return try numbers(text, bits, isSigned: true)
    case .float(let bits):
      return try Self.each(text, "floating-point numbers") { part in
        guard let number = Double(part) else { return nil }
        return bits == 32 ? UInt64(Float(number).bitPattern) : number.bitPattern
      } octets: {
        bits / 8
      }
    }
  }

  private func numbers(
    _ text: String, _ bits: Int, isSigned: Bool
  ) throws(UsageError) -> [UInt8] {
    let most = UInt64.max >> UInt64(64 - bits + (isSigned ? 1 : 0))
    let expected = isSigned ? "\(~Int64(most)) to \(most)" : "0 to \(most)"
    return try Self.each(text, "numbers from \(expected)") { part in
      let isNegative = part.hasPrefix("-")
      guard let size = UInt64(argument: isNegative ? part.dropFirst() : part),
        isNegative ? isSigned && size <= most + 1 : size <= most
      else { return nil }
      return isNegative ? 0 &- size : size
    } octets: {
      bits / 8
    }
  }

  private static func each(
    _ text: String, _ expected: String, _ read: (Substring) -> UInt64?, octets count: () -> Int
  ) throws(UsageError) -> [UInt8] {
    var octets: [UInt8] = []
    if text.isEmpty { return octets }
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let number = read(part) else {
        throw UsageError("invalid value \"\(part)\": expected \(expected)")
      }
      for index in 0..<count() {
        octets.append(UInt8(truncatingIfNeeded: number >> UInt64(8 * index)))
      }
    }
    return octets
  }
}
