/// Unpacks what gzip has packed: RFC 1952 around the blocks of RFC 1951. For /proc/config.gz, the
/// kernel's own account of how it was built.
///
/// The checksum at the end is not looked at. What is damaged, or would unpack to more than
/// ``limit`` octets, gives nil.
struct GzipText {
  /// Octets of the result.
  static let limit = 4 << 20

  private let input: [UInt8]
  private var place = 0
  private var bits: UInt32 = 0
  private var bitCount = 0
  private var output: [UInt8] = []

  static func unpack(_ octets: [UInt8]) -> [UInt8]? {
    var text = GzipText(input: octets)
    do throws(Damage) {
      try text.skipHeader()
      try text.inflate()
      return text.output
    } catch {
      return nil
    }
  }

  private struct Damage: Error {}

  private init(input: [UInt8]) { self.input = input }

  private mutating func octet() throws(Damage) -> UInt8 {
    guard place < input.count else { throw Damage() }
    defer { place += 1 }
    return input[place]
  }

  /// RFC 1952, 2.3.
  private mutating func skipHeader() throws(Damage) {
    guard input.starts(with: [0x1F, 0x8B, 8]), input.count >= 10 else { throw Damage() }
    let flags = input[3]
    place = 10
    if flags & 4 != 0 {
      let low = try octet()
      place += Int(low) + Int(try octet()) << 8
    }
    // A name and a comment, each up to a zero.
    for flag: UInt8 in [8, 16] where flags & flag != 0 { while try octet() != 0 {} }
    if flags & 2 != 0 { place += 2 }
  }

  private mutating func take(_ count: Int) throws(Damage) -> Int {
    while bitCount < count {
      bits |= UInt32(try octet()) << UInt32(bitCount)
      bitCount += 8
    }
    defer {
      bits >>= UInt32(count)
      bitCount -= count
    }
    return Int(bits & (1 << UInt32(count) - 1))
  }

  /// How many codes there are of each length, and what they stand for in their order.
  private struct Code {
    var counts = [Int](repeating: 0, count: 16)
    var symbols: [Int] = []

    init(lengths: some Collection<Int>) {
      for length in lengths { counts[length] += 1 }
      counts[0] = 0
      symbols = lengths.enumerated().filter { $0.element > 0 }.sorted {
        ($0.element, $0.offset) < ($1.element, $1.offset)
      }.map(\.offset)
    }
  }

  private mutating func symbol(_ table: Code) throws(Damage) -> Int {
    var code = 0
    var first = 0
    var index = 0
    for length in 1...15 {
      code |= try take(1)
      let count = table.counts[length]
      if code - first < count {
        let place = index + code - first
        guard table.symbols.indices.contains(place) else { throw Damage() }
        return table.symbols[place]
      }
      index += count
      first = (first + count) << 1
      code <<= 1
    }
    throw Damage()
  }

  private mutating func inflate() throws(Damage) {
    var isLast = false
    while !isLast {
      isLast = try take(1) == 1
      switch try take(2) {
      case 0: try copy()
      case 1: try expand(Self.fixedLiterals, Self.fixedDistances)
      case 2:
        let (literals, distances) = try readCodes()
        try expand(literals, distances)
      default: throw Damage()
      }
    }
  }

  private mutating func copy() throws(Damage) {
    bits = 0
    bitCount = 0
    let low = try octet()
    let count = Int(low) + Int(try octet()) << 8
    place += 2
    guard place + count <= input.count, output.count + count <= Self.limit else { throw Damage() }
    output += input[place..<place + count]
    place += count
  }

  private static let fixedLiterals = Code(
    lengths: (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 })
  private static let fixedDistances = Code(lengths: [Int](repeating: 5, count: 30))
  private static let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

  private mutating func readCodes() throws(Damage) -> (Code, Code) {
    let literalCount = try take(5) + 257
    let distanceCount = try take(5) + 1
    let count = try take(4) + 4
    var first = [Int](repeating: 0, count: 19)
    for place in Self.order.prefix(count) { first[place] = try take(3) }
    let table = Code(lengths: first)
    var lengths: [Int] = []
    while lengths.count < literalCount + distanceCount {
      switch try symbol(table) {
      case 16:
        guard let before = lengths.last else { throw Damage() }
        lengths += [Int](repeating: before, count: try take(2) + 3)
      case 17: lengths += [Int](repeating: 0, count: try take(3) + 3)
      case 18: lengths += [Int](repeating: 0, count: try take(7) + 11)
      case let length: lengths.append(length)
      }
    }
    guard lengths.count == literalCount + distanceCount else { throw Damage() }
    return (Code(lengths: lengths[..<literalCount]), Code(lengths: lengths[literalCount...]))
  }

  /// The shortest length, or distance, of each symbol and the bits that add to it.
  private static let lengths = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131,
    163, 195, 227, 258,
  ]
  private static let distances = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537,
    2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577,
  ]

  private mutating func expand(_ literals: Code, _ distanceCodes: Code) throws(Damage) {
    while true {
      let symbol = try symbol(literals)
      if symbol == 256 { return }
      if symbol < 256 {
        guard output.count < Self.limit else { throw Damage() }
        output.append(UInt8(symbol))
        continue
      }
      guard symbol <= 285 else { throw Damage() }
      let place = symbol - 257
      let more = place < 8 || place == 28 ? 0 : (place - 4) / 4
      let length = Self.lengths[place] + (try take(more))
      let code = try self.symbol(distanceCodes)
      guard code < 30 else { throw Damage() }
      let distance = Self.distances[code] + (try take(code < 4 ? 0 : (code - 2) / 2))
      guard distance <= output.count, output.count + length <= Self.limit else { throw Damage() }
      for _ in 0..<length { output.append(output[output.count - distance]) }
    }
  }
}
