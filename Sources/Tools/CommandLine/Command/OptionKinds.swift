import Atto
import AttoATT
import AttoFormats

extension Option where Value == String? {
  package static func text(
    _ name: String, _ argument: String, _ summary: String, kind: ValueKind = .other
  ) -> Option {
    var option = value(name, argument, summary, expected: "a text") { $0 }
    option.description.kind = kind
    return option
  }

  /// The path of a file.
  package static func file(_ name: String, _ argument: String, _ summary: String) -> Option {
    var option = value(name, argument, summary, expected: "the path of a file") {
      $0.isEmpty ? nil : $0
    }
    option.description.kind = .file
    return option
  }
}

extension Option where Value == [String] {
  package static func texts(
    _ name: String, _ argument: String, _ summary: String, kind: ValueKind = .other
  ) -> Option {
    var option = list(name, argument, summary, expected: "a text") { $0 }
    option.description.kind = kind
    return option
  }
}

extension Option where Value == Int? {
  package static func integer(
    _ name: String, _ argument: String, in range: ClosedRange<Int>, _ summary: String
  ) -> Option {
    value(name, argument, summary, expected: range.expectation) { range.value($0) }
  }
}

extension Option where Value == Int {
  package static func integer(
    _ name: String, _ argument: String, in range: ClosedRange<Int>, default absent: Int,
    _ summary: String
  ) -> Option {
    value(name, argument, summary, default: absent, expected: range.expectation) {
      range.value($0)
    }
  }
}

extension ClosedRange<Int> {
  fileprivate var expectation: String {
    upperBound == .max
      ? "a number of at least \(lowerBound)" : "a number from \(lowerBound) to \(upperBound)"
  }

  fileprivate func value(_ text: String) -> Int? {
    Int(text).flatMap { contains($0) ? $0 : nil }
  }
}

extension Option where Value == Duration? {
  package static func seconds(_ name: String, _ summary: String) -> Option {
    value(name, "SECONDS", summary, expected: Duration.expectation) { Duration(seconds: $0) }
  }
}

extension Option where Value == Duration {
  package static func seconds(_ name: String, default absent: Double, _ summary: String) -> Option {
    let shown = absent == absent.rounded() ? "\(Int(absent))" : "\(absent)"
    return value(
      name, "SECONDS", summary, default: .seconds(absent), shown: shown,
      expected: Duration.expectation
    ) { Duration(seconds: $0) }
  }
}

extension Duration {
  fileprivate static let expectation = "seconds such as 5 or 0.5, more than 0 and at most 1000000"

  fileprivate init?(seconds text: String) {
    guard let seconds = Double(text), seconds > 0, seconds <= 1_000_000 else { return nil }
    self = .seconds(seconds)
  }
}

extension BluetoothUUID {
  package static let expectation = "a UUID such as 180D or in full, or an assigned name"

  /// Reads a UUID, or the name that the SIG assigned to one of these kinds: `2A19`, `battery level`.
  package init?(argument text: String, kinds: [AssignedNumbers.Kind]) {
    let named = kinds.lazy.compactMap { AssignedNumbers.uuid(named: text, as: $0) }
    guard let uuid = BluetoothUUID(text) ?? named.first else { return nil }
    self = uuid
  }
}

extension Option where Value == BluetoothUUID? {
  package static func uuid(
    _ name: String, _ kinds: AssignedNumbers.Kind..., summary: String
  ) -> Option {
    value(name, "UUID", summary, expected: BluetoothUUID.expectation) {
      BluetoothUUID(argument: $0, kinds: kinds)
    }
  }
}

extension Option where Value == AttributeHandle? {
  package static func handle(_ name: String, _ summary: String) -> Option {
    value(name, "HANDLE", summary, expected: AttributeHandle.expectation) {
      try? AttributeHandle(argument: $0)
    }
  }
}

extension Option where Value == BluetoothAddress? {
  package static func address(_ name: String, _ summary: String) -> Option {
    value(
      name, "ADDRESS", summary,
      expected: "an address such as AA:BB:CC:DD:EE:FF or AA:BB:CC:DD:EE:FF/random"
    ) { BluetoothAddress($0) }
  }
}

extension Option where Value == Set<BluetoothAddress>? {
  /// An address of either kind, unless it names its kind: a label on a device does not.
  package static func addresses(_ name: String, _ summary: String) -> Option {
    value(name, "ADDRESS", summary, expected: "an address such as C0:11:22:33:44:55") { text in
      guard let address = BluetoothAddress(text) else { return nil }
      return text.utf8.contains(UInt8(ascii: "/"))
        ? [address] : [address, BluetoothAddress(address.value, kind: .random)]
    }
  }
}

extension Option {
  /// One of a few words, the first of which is the default.
  package static func choice(
    _ name: String, _ argument: String, _ choices: [(word: String, value: Value)], _ summary: String
  ) -> Option {
    let words = choices.map(\.word)
    var option = value(
      name, argument, summary, default: choices[0].value, shown: words[0],
      expected: words.alternatives
    ) { text in choices.first { $0.word == text }?.value }
    option.description.allowedValues = words
    return option
  }

  /// One of a few words, without a default.
  package static func choice<Found: Sendable>(
    _ name: String, _ argument: String, _ choices: KeyValuePairs<String, Found>, _ summary: String
  ) -> Option where Value == Found? {
    let (words, values) = (choices.map(\.key), choices.map(\.value))
    var option = value(name, argument, summary, expected: words.alternatives) { text in
      words.firstIndex(of: text).map { values[$0] }
    }
    option.description.allowedValues = words
    return option
  }
}

extension AttributeHandle {
  static let expectation = "a handle from 0x0001 to 0xFFFF"

  /// Reads `0x002A` or `42`.
  ///
  /// - Parameter allowsZero: for requests: a server must answer 0x0000 with Invalid Handle.
  package init(argument text: String, allowsZero: Bool = false) throws(UsageError) {
    guard let number = UInt16(argument: text), number > 0 || allowsZero else {
      throw UsageError(
        "invalid handle \"\(text)\": expected 0x000\(allowsZero ? 0 : 1) to 0xFFFF, or decimal")
    }
    self.init(number)
  }
}

extension FixedWidthInteger {
  /// Reads a number without a sign: hexadecimal after `0x`, else decimal. Decimal numbers have no
  /// leading zero: `0010` is as likely meant to be hexadecimal.
  package init?(argument text: some StringProtocol) {
    let isHex = text.hasPrefix("0x") || text.hasPrefix("0X")
    let digits = isHex ? String(text.dropFirst(2)) : String(text)
    guard digits.first != "+", digits.first != "-" else { return nil }
    guard isHex || digits.first != "0" || digits.count == 1 else { return nil }
    self.init(digits, radix: isHex ? 16 : 10)
  }
}

extension Endpoint {
  /// Reads an endpoint; `air` and `le` are short for `air:` and `le:`.
  package init(argument text: String) throws(UsageError) {
    do throws(EndpointError) {
      try self.init(text == "air" || text == "le" ? text + ":" : text)
    } catch {
      throw UsageError(
        error.description,
        hint: error.fault == .unknownForm ? Self.suggestion(for: text) : nil)
    }
  }

  /// The endpoint that is probably meant by a path, an address or a name.
  private static func suggestion(for text: String) -> String? {
    guard !text.isEmpty else { return nil }
    let isAddress = BluetoothAddress(String(text.prefix { $0 != "@" })) != nil
    let prefix = isAddress ? "le:" : text.contains("/") ? "unix:" : "air:"
    let isEndpoint = isAddress || text.hasPrefix("/") || !text.contains(":")
    return isEndpoint ? "did you mean \"\(prefix)\(text)\"?" : nil
  }
}
