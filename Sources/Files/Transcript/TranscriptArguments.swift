import ATT

// What follows the words of steps that are about the server and its clients.

extension TranscriptLine {
  mutating func databaseChange() throws(TranscriptError) -> Transcript.DatabaseChange {
    let expected = "add and the path of a profile, or remove and a handle"
    guard let verb = stepWord() else { throw missing(expected) }
    switch verb.text {
    case "add":
      // A path may hold spaces: it is all that is left.
      let path = try words("the path of a profile").joined(separator: " ")
      return .add(path)
    case "remove": return .remove(try handle())
    default: throw verb.mistake(expected)
    }
  }

  /// A handle and the octets of its value.
  mutating func value() throws(TranscriptError) -> Transcript.Value {
    let handle = try handle()
    guard let word = stepWord() else { throw missing("octets, or - for none") }
    guard word.text != "-" else { return Transcript.Value(handle, []) }
    guard let octets = EncodedBytes.hexadecimal(word.text.utf8) else {
      throw word.mistake("octets without spaces, or - for none")
    }
    guard octets.count <= 512 else { throw word.mistake("at most 512 octets") }
    return Transcript.Value(handle, octets)
  }

  /// One value or more.
  mutating func values() throws(TranscriptError) -> [Transcript.Value] {
    var values = [try value()]
    while !isAtEnd { values.append(try value()) }
    return values
  }

  /// The key of a bond, if there is one.
  mutating func key() throws(TranscriptError) -> [UInt8]? {
    guard let word = stepWord() else { return nil }
    guard let key = EncodedBytes.hexadecimal(word.text.utf8), key.count == 16 else {
      throw word.mistake("a key of 16 octets")
    }
    return key
  }

  /// Which client.
  mutating func client() throws(TranscriptError) -> Int {
    let expected = "the number of a client, from 1 to 9"
    guard let word = stepWord() else { throw missing(expected) }
    guard let number = Int(word.text), 1...9 ~= number else { throw word.mistake(expected) }
    return number
  }

  private mutating func handle() throws(TranscriptError) -> AttributeHandle {
    let expected = "a handle such as 0x002A"
    guard let word = stepWord() else { throw missing(expected) }
    guard word.text.hasPrefix("0x"), word.text.utf8.count == 6,
      let value = UInt16(word.text.dropFirst(2), radix: 16), value > 0
    else { throw word.mistake(expected) }
    return AttributeHandle(value)
  }

  /// Whether nothing but a comment is left.
  private var isAtEnd: Bool {
    var line = self
    return line.stepWord() == nil
  }
}
