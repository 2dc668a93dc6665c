import AttoATT

// The arguments of steps that concern the server and its clients.

extension TranscriptLine {
  mutating func databaseChange() throws(TranscriptError) -> Transcript.DatabaseChange {
    let expected = "add and the path of a profile, or remove and a handle"
    guard let verb = stepWord() else { throw missing(expected) }
    switch verb.text {
    case "add":
      // A path may contain spaces and takes the rest of the line.
      let path = try words("the path of a profile").joined(separator: " ")
      return .add(path)
    case "remove": return .remove(try handle())
    default: throw verb.mistake(expected)
    }
  }

  /// A handle and the octets of its value.
  mutating func value() throws(TranscriptError) -> Transcript.Value {
    let handle = try handle()
    guard let word = stepWord() else { throw missing("octets, or - for an empty value") }
    guard word.text != "-" else { return Transcript.Value(handle, []) }
    guard let octets = Hex.octets(word.text.utf8, separators: " ") else {
      throw word.mistake("octets without spaces, or - for an empty value")
    }
    guard octets.count <= 512 else { throw word.mistake("at most 512 octets") }
    return Transcript.Value(handle, octets)
  }

  /// One or more values.
  mutating func values() throws(TranscriptError) -> [Transcript.Value] {
    var values = [try value()]
    while !isAtEnd { values.append(try value()) }
    return values
  }

  /// The key of a bond, if any.
  mutating func key() throws(TranscriptError) -> [UInt8]? {
    guard let word = stepWord() else { return nil }
    guard let key = Hex.octets(word.text.utf8, separators: " "), key.count == 16 else {
      throw word.mistake("a key of 16 octets")
    }
    return key
  }

  mutating func client() throws(TranscriptError) -> Int {
    try argument("the number of a client, from 1 to 9") { text in
      Int(text).flatMap { 1...9 ~= $0 ? $0 : nil }
    }
  }

  /// The number of bearers and their ATT_MTU.
  mutating func bearers() throws(TranscriptError) -> Transcript.Action {
    func number(_ range: ClosedRange<Int>) -> (String) -> Int? {
      { text in Int(text).flatMap { range ~= $0 ? $0 : nil } }
    }
    let count = try argument("the number of bearers, from 1 to 5", number(1...5))
    let least = Transcript.smallestBearerMTU
    guard !isAtEnd else { return .bearers(count: count, mtu: least) }
    return .bearers(
      count: count, mtu: try argument("an ATT_MTU from \(least) to 65535", number(least...65535)))
  }

  private mutating func handle() throws(TranscriptError) -> AttributeHandle {
    try argument("a handle such as 0x002A") { text in
      guard text.hasPrefix("0x"), text.utf8.count == 6,
        let value = Hex.number(text.utf8.dropFirst(2)), value > 0
      else { return nil }
      return AttributeHandle(UInt16(value))
    }
  }

  /// Whether only a comment is left.
  private var isAtEnd: Bool {
    var line = self
    return line.stepWord() == nil
  }
}
