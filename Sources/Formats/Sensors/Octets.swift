/// Octets of an advertisement. Those beyond the end read as 0, so that no position can trap; formats
/// check the count first.
struct Octets {
  let all: [UInt8]

  init(_ all: some Sequence<UInt8>) { self.all = Array(all) }

  var count: Int { all.count }

  subscript(_ position: Int) -> UInt8 {
    all.indices.contains(position) ? all[position] : 0
  }

  /// The octets from a position on, at most `count`.
  func part(_ position: Int, _ count: Int = .max) -> ArraySlice<UInt8> {
    all.dropFirst(max(0, position)).prefix(max(0, count))
  }

  /// An unsigned number of up to 7 octets.
  func unsigned(_ position: Int, _ size: Int, isBig: Bool = false) -> Int {
    var number = 0
    for offset in 0..<min(max(size, 0), 7) {
      number = number << 8 | Int(self[position + (isBig ? offset : size - 1 - offset)])
    }
    return number
  }

  /// A signed number of 1 to 7 octets.
  func signed(_ position: Int, _ size: Int, isBig: Bool = false) -> Int {
    guard 1...7 ~= size else { return 0 }
    let number = unsigned(position, size, isBig: isBig)
    return number >> (size * 8 - 1) == 0 ? number : number - 1 << (size * 8)
  }

  /// A floating-point number of 4 octets, least significant first.
  func float(_ position: Int) -> Float { Float(bitPattern: UInt32(unsigned(position, 4))) }
}
