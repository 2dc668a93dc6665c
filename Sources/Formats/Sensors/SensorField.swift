/// A field at a fixed place, from a table in text: `KIND[:LABEL][@OFFSET] TYPE[*TIMES][/OVER][~UNKNOWN]`.
///
/// TYPE is uN or sN, unsigned or signed with N octets, least significant first; `>` before it: most
/// significant first. UNKNOWN is the number, in hex, that means no value. A state is on unless it is 0.
struct SensorField: Sendable {
  let kind: String
  let label: String
  let offset: Int
  let size: Int
  let isSigned: Bool
  let isBig: Bool
  let times: Double
  let over: Double
  let unknown: Int?

  /// Parses a field; nil if it is not in the language.
  init?(_ text: some StringProtocol) {
    let words = Substring(text).split(separator: " ")
    guard words.count == 2 else { return nil }
    let place = words[0].split(separator: "@")
    let name = place[0].split(separator: ":")
    kind = String(name[0])
    label = name.count > 1 ? String(name[1]) : ""
    offset = place.count > 1 ? Int(place[1]) ?? -1 : 0
    var type = words[1]
    func cut(_ mark: Character) -> Substring? {
      guard let index = type.lastIndex(of: mark) else { return nil }
      defer { type = type[..<index] }
      return type[type.index(after: index)...]
    }
    unknown = cut("~").flatMap { Int($0, radix: 16) }
    over = cut("/").flatMap { Double($0) } ?? 1
    times = cut("*").flatMap { Double($0) } ?? 1
    var tail = type
    isBig = tail.first == ">"
    if isBig { tail = tail.dropFirst() }
    isSigned = tail.first == "s"
    size = Int(tail.dropFirst()) ?? 0
    guard SensorKind.named(kind) != nil, offset >= 0, 1...7 ~= size,
      "us".contains(tail.first ?? "?")
    else { return nil }
  }

  /// Parses fields separated by commas.
  static func list(_ text: String) -> [SensorField] {
    text.split(separator: ",").compactMap { SensorField($0.drop { $0 == " " || $0 == "\n" }) }
  }

  /// The reading, or nil if the field is not there or says that it has no value.
  func value(in octets: Octets, at position: Int = 0) -> SensorReading.Value? {
    let place = position + offset
    guard place + size <= octets.count else { return nil }
    if let unknown, octets.unsigned(place, size, isBig: isBig) == unknown { return nil }
    let number =
      isSigned
      ? octets.signed(place, size, isBig: isBig) : octets.unsigned(place, size, isBig: isBig)
    if SensorKind.named(kind)?.content == .state { return .state(number != 0) }
    // One division, so that 2153 / 100 is the number nearest to 21.53.
    return .number(Double(number) * times / over)
  }
}

extension SensorAdvertisement {
  mutating func add(_ fields: [SensorField], of octets: Octets, at position: Int = 0) {
    for field in fields {
      if let value = field.value(in: octets, at: position) { add(field.kind, field.label, value) }
    }
  }
}
