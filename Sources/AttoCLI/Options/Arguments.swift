import Atto
import CLinux
import Glibc

/// A command line that is wrong: exit status 2.
struct UsageError: Error {
  let message: String
  init(_ message: String) { self.message = message }
}

/// The words of a command line, sorted into options and others by getopt_long.
struct Arguments: Sendable {
  /// What is no option, in order.
  let words: [String]
  private let values: [String: [String]]

  /// - Parameter words: what follows the command's name.
  init(_ words: [String], options: [OptionSpec]) throws {
    let all = options + [OptionSpec("help", nil, "")]
    let names = all.map { strdup($0.name) }
    let argv: [UnsafeMutablePointer<CChar>?] = (["atto"] + words).map { strdup($0) } + [nil]
    let copies = argv
    defer { for pointer in names + copies { free(pointer) } }
    var table = all.indices.map { index in
      option(
        name: UnsafePointer(names[index]), has_arg: all[index].argument == nil ? 0 : 1,
        flag: nil, val: Int32(index))
    }
    table.append(option())
    clinux_options_begin()
    var values: [String: [String]] = [:]
    scan: while true {
      let found = clinux_options_next(Int32(argv.count - 1), argv, table)
      let before = argv[max(0, Int(clinux_options_index()) - 1)].map { String(cString: $0) } ?? ""
      switch found {
      case CLINUX_OPTION_END: break scan
      case CLINUX_OPTION_UNKNOWN:
        throw UsageError(Self.fault(in: before, of: words, options: all))
      case CLINUX_OPTION_LACKS_ARGUMENT: throw UsageError("\(before) wants an argument")
      default:
        let spec = all[Int(found)]
        values[spec.name, default: []].append(
          spec.argument == nil ? "" : String(cString: clinux_option_argument()))
      }
    }
    self.words = argv[Int(clinux_options_index())..<argv.count - 1].compactMap {
      $0.map { String(cString: $0) }
    }
    self.values = values
  }

  /// What is wrong with the option that getopt_long stumbled over.
  ///
  /// - Parameter last: the last word that it passed: not the culprit if that is `-xy`.
  private static func fault(
    in last: String, of words: [String], options: [OptionSpec]
  ) -> String {
    guard last.hasPrefix("--") else {
      let culprit = words.first { $0.hasPrefix("-") && !$0.hasPrefix("--") && $0 != "-" }
      return "there is no option \(culprit ?? last)"
    }
    let parts = last.dropFirst(2).split(separator: "=", maxSplits: 1)
    let name = parts.first.map { String($0) } ?? ""
    let near = options.filter { $0.name.hasPrefix(name) }
    if let one = near.first(where: { $0.name == name }) ?? near.first,
      near.count == 1 || one.name == name, one.argument == nil, last.contains("=")
    {
      return "--\(one.name) takes no argument"
    }
    if near.count > 1, !name.isEmpty {
      return "--\(name) is not clear: it may be "
        + near.map { "--\($0.name)" }.joined(separator: " or ")
    }
    return "there is no option \(last)"
  }

  func has(_ name: String) -> Bool { values[name] != nil }

  /// The last value given.
  func value(_ name: String) -> String? { values[name]?.last }

  /// All values given, in order.
  func all(_ name: String) -> [String] { values[name] ?? [] }

  /// The word at a position.
  func word(_ index: Int, _ what: String) throws -> String {
    guard index < words.count else { throw UsageError("\(what) is missing") }
    return words[index]
  }

  func allow(words limit: Int) throws {
    guard words.count <= limit else { throw UsageError("what is \"\(words[limit])\"?") }
  }

  func integer(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
    guard let text = value(name) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      let end = range.upperBound == .max ? "on" : "to \(range.upperBound)"
      throw UsageError(
        "--\(name) wants a number from \(range.lowerBound) \(end), not \"\(text)\"")
    }
    return number
  }

  /// Seconds, with a fraction if wished.
  func duration(_ name: String) throws -> Duration? {
    guard let text = value(name) else { return nil }
    guard let seconds = Double(text), seconds > 0, seconds <= 1_000_000 else {
      throw UsageError(
        "--\(name) wants seconds, such as 5 or 0.5, more than 0 and at most 1000000, not \"\(text)\""
      )
    }
    return .seconds(seconds)
  }

  /// What the socket's send buffer shall hold.
  func sendBuffer() throws -> Int? { try integer("send-buffer", in: 1...1 << 30) }

  func uuid(_ name: String) throws -> BluetoothUUID? {
    guard let text = value(name) else { return nil }
    guard let uuid = BluetoothUUID(text) else {
      throw UsageError("--\(name) wants a UUID such as 180D or in full, not \"\(text)\"")
    }
    return uuid
  }

  /// The addresses that one is meant by: of both kinds where it does not say, for who reads an
  /// address from a label does not know its kind.
  func addresses(_ name: String) throws -> Set<BluetoothAddress>? {
    guard let text = value(name) else { return nil }
    guard let address = BluetoothAddress(text) else {
      throw UsageError("--\(name) wants an address such as C0:11:22:33:44:55, not \"\(text)\"")
    }
    return text.utf8.contains(UInt8(ascii: "/"))
      ? [address] : [address, BluetoothAddress(address.value, kind: .random)]
  }

  func range(_ name: String) throws -> HandleRange? {
    try value(name).map { try HandleRange(argument: $0) }
  }

  func securityLevel() throws -> SecurityLevel {
    switch value("security") {
    case nil, "low"?: .low
    case "medium"?: .medium
    case "high"?: .high
    case "fips"?: .fips
    case let other?:
      throw UsageError(
        "--security wants low, medium, high or fips"
          + (other == "auto" ? " here" : ", or auto where a peer is connected to")
          + ", not \"\(other)\"")
    }
  }
}

extension AttributeHandle {
  /// Reads `0x002A` or `42`.
  init(argument text: String) throws {
    let isHex = text.lowercased().hasPrefix("0x")
    let digits = isHex ? text.dropFirst(2) : text[...]
    // Swift reads signs, too.
    let number = digits.first == "+" ? nil : UInt16(digits, radix: isHex ? 16 : 10)
    guard let number, number > 0 else {
      throw UsageError("a handle is written 0x0001 to 0xFFFF, not \"\(text)\"")
    }
    self.init(number)
  }
}

extension HandleRange {
  /// Reads `0x0001-0xFFFF`.
  init(argument text: String) throws {
    let parts = text.split(separator: "-", maxSplits: 1).map(String.init)
    guard parts.count == 2,
      let range = HandleRange(
        try AttributeHandle(argument: parts[0]), try AttributeHandle(argument: parts[1]))
    else {
      throw UsageError("a range is written 0x0001-0xFFFF with start before end, not \"\(text)\"")
    }
    self = range
  }
}

/// Reads hex digits, in pairs; spaces, colons and dashes between pairs do no harm.
func octets(argument text: String) throws -> [UInt8] {
  var octets: [UInt8] = []
  var high: UInt8?
  for character in text.utf8 {
    let digit: UInt8
    switch character {
    case 0x30...0x39: digit = character - 0x30
    case 0x41...0x46: digit = character - 0x37
    case 0x61...0x66: digit = character - 0x57
    case 0x20 where high == nil, 0x3A where high == nil, 0x2D where high == nil: continue
    default: throw UsageError("\"\(text)\" is not hex: pairs of 0 to 9 and a to f are wanted")
    }
    if let first = high {
      octets.append(first << 4 | digit)
      high = nil
    } else {
      high = digit
    }
  }
  guard high == nil else { throw UsageError("\"\(text)\" has an odd number of hex digits") }
  return octets
}
