/// A field of a value, as a line of `formats.txt` describes it.
struct ValueField: Sendable, Equatable {
  /// How text shows the field.
  enum Display: Sendable {
    case named
    case unnamed
    /// Only in JSON.
    case hidden
    /// Reserved.
    case never
  }

  /// A factor: multiplier * 10^decimal * 2^binary.
  struct Scale: Sendable, Equatable {
    var multiplier = 1
    var decimal = 0
    var binary = 0
  }

  enum Kind: Sendable, Equatable {
    case flags(Int)
    /// A part of the flags: lowest bit and number of bits.
    case part(Int, Int)
    case unsigned(Int)
    case signed(Int)
    case mask(Int)
    case hex(Int)
    /// The number of a unit. Assigned Numbers, 3.5.
    case unit
    case handle
    case version
    /// Octets that are written with the most significant first.
    case identifier(Int)
    case sfloat
    case float
    case ieee(Int)
    case date
    case day
    case days(Int)
    case uuid
    /// Nil: to the end.
    case utf8(Int?)
    case utf16
    case octets(Int?)

    /// The number of bits; nil if it depends on the value.
    var bits: Int? {
      switch self {
      case .flags(let bits), .unsigned(let bits), .signed(let bits), .mask(let bits),
        .hex(let bits), .ieee(let bits), .days(let bits):
        bits
      case .part: 0
      case .handle, .version, .unit, .sfloat: 16
      case .float: 32
      case .day: 32
      case .date: 56
      case .identifier(let count), .utf8(let count?), .octets(let count?): 8 * count
      case .uuid, .utf8(nil), .utf16, .octets(nil): nil
      }
    }
  }

  var name: String
  var display = Display.unnamed
  var kind: Kind
  var scale = Scale()
  var unit: String?
  /// Bits of the flags, and whether each must be set.
  var conditions: [Int: Bool] = [:]
  var unknown: UInt64?
  var isRepeated = false
  /// The names of values or bits.
  var names: [Int: String] = [:]

  init(name: String, kind: Kind) {
    self.name = name
    self.kind = kind
  }

  func isPresent(_ flags: UInt64) -> Bool {
    conditions.allSatisfy { bit, isSet in (flags >> UInt64(bit) & 1 == 1) == isSet }
  }

  /// The name as words: `heartRate` is `heart rate`.
  var words: String {
    name.reduce(into: "") { text, character in
      text += character.isUppercase ? " " + character.lowercased() : String(character)
    }
  }
}

// MARK: - The language of formats.txt

extension ValueField {
  /// Reads a field; nil if it is not in the language.
  init?(_ text: Substring, lists: [Substring: [Int: String]]) {
    let parts = text.split(separator: "{", maxSplits: 1)
    var words = parts[0].split(separator: " ")[...]
    guard var name = words.popFirst() else { return nil }
    var display = Display.named
    switch name.first {
    case ".": display = .unnamed
    case "-": display = .hidden
    case "_": display = .never
    default: break
    }
    if display == .unnamed || display == .hidden { name.removeFirst() }
    let type: Substring
    if name.hasPrefix("flags:") {
      (type, display) = (name, .never)
    } else if let word = words.popFirst() {
      type = word
    } else {
      return nil
    }
    // Only numbers have a scale.
    let isNumber = type.first == "u" || type.first == "s"
    let base = isNumber ? type.prefix { !"*eb".contains($0) } : type
    guard let kind = Kind(base) else { return nil }
    self.init(name: String(name), kind: kind)
    self.display = display
    guard read(scale: type.dropFirst(base.count)) else { return nil }
    for word in words {
      switch word.first {
      case "?", "!":
        for bit in word.drop(while: { $0 == "?" }).split(separator: ",") {
          guard let number = Int(bit.drop { $0 == "!" }) else { return nil }
          conditions[number] = bit.first != "!"
        }
      case "~":
        guard let number = UInt64(word.dropFirst(), radix: 16) else { return nil }
        unknown = number
      case "[": isRepeated = true
      default: unit = String(word)
      }
    }
    if parts.count == 2 {
      let list = parts[1].prefix { $0 != "}" }
      names = list.first == "@" ? lists[list] ?? [:] : Self.names(list)
      if names.isEmpty { return nil }
    }
  }

  /// Reads `*MeDbB`.
  private mutating func read(scale text: Substring) -> Bool {
    var rest = text
    while let mark = rest.popFirst() {
      let digits = rest.prefix { $0.isNumber || $0 == "-" }
      guard let number = Int(digits) else { return false }
      switch mark {
      case "*": scale.multiplier = number
      case "e": scale.decimal = number
      case "b": scale.binary = number
      default: return false
      }
      rest = rest.dropFirst(digits.count)
    }
    return true
  }

  /// Reads names separated by commas, each with a number before it or after the one of the last.
  static func names(_ text: Substring) -> [Int: String] {
    var names: [Int: String] = [:]
    var next = 0
    for part in text.split(separator: ",") {
      let pair = part.split(separator: "=", maxSplits: 1)
      if pair.count == 2, let number = Int(pair[0]) { next = number }
      names[next] = String(pair.last ?? part)
      next += 1
    }
    return names
  }
}

extension ValueField.Kind {
  fileprivate init?(_ text: Substring) {
    let parts = text.split(separator: ":")
    let count = parts.count == 2 ? Int(parts[1]) : nil
    let bits = Int(text.dropFirst())
    switch (parts[0], count) {
    case ("flags", let count?): self = .flags(count)
    case ("id", let count?): self = .identifier(count)
    case ("days", let count?): self = .days(count)
    case ("utf8", let count): self = .utf8(count)
    case ("hex", let count): self = .octets(count)
    case ("utf16", nil): self = .utf16
    case ("uuid", nil): self = .uuid
    case ("date", nil): self = .date
    case ("day", nil): self = .day
    case ("sfloat", nil): self = .sfloat
    case ("float", nil): self = .float
    case ("ieee32", nil): self = .ieee(32)
    case ("ieee64", nil): self = .ieee(64)
    case ("h16", nil): self = .handle
    case ("b16", nil): self = .version
    case ("unit", nil): self = .unit
    default:
      if text.first == "@" {
        let parts = text.dropFirst().split(separator: "+").compactMap { Int($0) }
        guard parts.count == 2 else { return nil }
        self = .part(parts[0], parts[1])
        return
      }
      guard let bits, 1...64 ~= bits else { return nil }
      switch text.first {
      case "u": self = .unsigned(bits)
      case "s": self = .signed(bits)
      case "m": self = .mask(bits)
      case "x": self = .hex(bits)
      default: return nil
      }
    }
  }

  /// The format numbers of the Characteristic Presentation Format. Assigned Numbers, 2.4.1.
  init?(presentation format: UInt8) {
    switch format {
    case 1: self = .unsigned(8)
    case 2: self = .unsigned(2)
    case 3: self = .unsigned(4)
    case 4...10: self = .unsigned([8, 12, 16, 24, 32, 48, 64][Int(format) - 4])
    case 12...18: self = .signed([8, 12, 16, 24, 32, 48, 64][Int(format) - 12])
    case 20: self = .ieee(32)
    case 21: self = .ieee(64)
    case 22: self = .sfloat
    case 23: self = .float
    case 25: self = .utf8(nil)
    case 26: self = .utf16
    default: return nil
    }
  }
}
