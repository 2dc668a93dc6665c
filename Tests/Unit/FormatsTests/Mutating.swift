import AttoATT

extension SplitMix64 {
  /// Changes one to four places of a text: replaces, removes, doubles, moves or truncates bytes.
  mutating func mutate(_ bytes: [UInt8]) -> [UInt8] {
    var result = bytes
    for _ in 0..<Int.random(in: 1...4, using: &self) where !result.isEmpty {
      let at = Int.random(in: 0..<result.count, using: &self)
      let length = Int.random(in: 1...min(12, result.count - at), using: &self)
      switch Int.random(in: 0..<6, using: &self) {
      case 0: result[at] = UInt8.random(in: 0...255, using: &self)
      case 1: result.removeSubrange(at..<at + length)
      case 2: result.insert(contentsOf: result[at..<at + length], at: at)
      case 3:
        let from = Int.random(in: 0...result.count - length, using: &self)
        result.replaceSubrange(at..<at + length, with: result[from..<from + length])
      case 4:
        result[at] = Array("{}[]\",:0123456789.-+eEfx#<> \n\\".utf8).randomElement(using: &self)!
      default: result.removeSubrange((at + length)...)
      }
    }
    return result
  }
}
