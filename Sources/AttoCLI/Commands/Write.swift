import Atto
import Store

/// `atto write`: the writing procedures. Vol 3, Part G, 4.9.
enum WriteCommand: Command {
  static let name = "write"
  static let examples = [
    "atto write air:Strap 0x0017 01",
    "atto write unix:/tmp/peer 0x0020 00ff --no-response",
    "atto write unix:/tmp/peer 0x0020 0001 0x0022 02 --reliable",
  ]
  static let summary = "Writes a value, or several at once."
  static let usage = "ENDPOINT HANDLE HEX [HANDLE HEX...] [OPTIONS]"
  static let options =
    [
      OptionSpec("no-response", nil, "Write Command: nobody says whether it worked"),
      OptionSpec("long", nil, "in parts: Prepare Write, then Execute Write"),
      OptionSpec("reliable", nil, "all pairs of HANDLE HEX or none, with their echo checked"),
      OptionSpec("offset", "N", "from this octet on, in parts"),
      OptionSpec("signed", nil, "Signed Write Command, with the bond's key"),
      OptionSpec("key", "HEX", "another CSRK: 16 octets, most significant first"),
      OptionSpec("counter", "N", "the sign counter that goes with --key; never use one twice"),
    ] + OptionSpec.connecting
  static let notes =
    "An empty value is written \"\". --signed uses the key and counter that are kept of the bond\n"
    + "(see atto pair), on a link that is not encrypted: --security low."

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let connecting = try Connecting(arguments)
    let pairs = try pairs(arguments)
    let offset = try arguments.integer("offset", in: 0...65535).map { UInt16($0) }
    let ways = ["no-response", "long", "reliable", "signed"].filter(arguments.has)
    guard ways.count <= 1 else {
      throw UsageError("--\(ways[0]) and --\(ways[1]) exclude each other")
    }
    guard pairs.count == 1 || ways == ["reliable"] else {
      throw UsageError("several pairs of HANDLE HEX want --reliable")
    }
    if offset != nil, ways.first.map({ $0 != "long" }) ?? false {
      throw UsageError("--offset goes with --long only")
    }
    let signing = try signing(arguments)
    let (handle, value) = pairs[0]
    let signsWithBond = ways == ["signed"] && signing == nil
    guard !signsWithBond || connecting.isRadio else {
      throw UsageError("only an le: endpoint has a bond to sign with; give --key and --counter")
    }
    try await connecting.use(on: loop, needsStore: signsWithBond) { connection, store in
      switch ways.first {
      case "no-response": try await connection.writeWithoutResponse(handle, value)
      case "reliable":
        try await connection.writeReliably(pairs.map { LongWrite($0.handle, value: $0.value) })
      case "signed":
        if let signing {
          try await connection.writeSigned(
            handle, value, counter: signing.counter, key: signing.key)
        } else if let store {
          try await connection.writeSigned(handle, value, keptIn: store)
        }
      case "long": try await connection.writeLong(handle, value, offset: offset ?? 0)
      default:
        if let offset {
          try await connection.writeLong(handle, value, offset: offset)
        } else {
          try await connection.write(handle, value)
        }
      }
    }
    if arguments.has("json") {
      for (handle, value) in pairs {
        try Terminal.print(
          json: Line(handle: Shown.json(handle), value: Shown.hex(value)))
      }
    }
  }

  private struct Line: Encodable {
    let handle: Int
    let value: String
  }

  private static func pairs(
    _ arguments: Arguments
  ) throws -> [(handle: AttributeHandle, value: [UInt8])] {
    let words = Array(arguments.words.dropFirst())
    guard !words.isEmpty, words.count % 2 == 0 else {
      throw UsageError("a handle and a value in hex are wanted")
    }
    return try stride(from: 0, to: words.count, by: 2).map { index in
      (try AttributeHandle(argument: words[index]), try octets(argument: words[index + 1]))
    }
  }

  private static func signing(_ arguments: Arguments) throws -> (key: [UInt8], counter: UInt32)? {
    guard arguments.has("signed") else {
      for name in ["key", "counter"] where arguments.has(name) {
        throw UsageError("--\(name) goes with --signed")
      }
      return nil
    }
    let counter = try arguments.integer("counter", in: 0...Int(UInt32.max))
    guard arguments.has("key") || counter != nil else { return nil }
    guard let text = arguments.value("key"), let counter else {
      throw UsageError("--key and --counter go together")
    }
    let key = try octets(argument: text)
    guard key.count == 16 else { throw UsageError("--key wants 16 octets, not \(key.count)") }
    return (key, UInt32(counter))
  }
}
