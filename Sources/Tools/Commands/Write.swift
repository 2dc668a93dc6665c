import Atto
import AttoCommandLine
import AttoPeers
import AttoStore

/// `atto write`: the writing procedures. Vol 3, Part G, 4.9.
package struct WriteCommand: ConnectionCommand {
  private static let noResponse = Option.flag(
    "no-response", "Send a Write Command, which has no response.")
  private static let long = Option.flag(
    "long", "Write in parts: Prepare Write, then Execute Write.")
  private static let reliable = Option.flag(
    "reliable", "Write all pairs of HANDLE VALUE or none, and check the echoed parts.")
  private static let signed = Option.flag(
    "signed", "Send a Signed Write Command with the key of the bond.")
  private static let offset = Option.integer(
    "offset", "N", in: 0...65535, "Write from this octet on, in parts.")
  private static let key = Option.value(
    "key", "HEX", "Sign with this CSRK (16 octets, most significant first) instead.",
    expected: "16 octets in hex"
  ) { text in
    let key = try? octets(argument: text)
    return key?.count == 16 ? key : nil
  }
  private static let counter = Option.integer(
    "counter", "N", in: 0...Int(UInt32.max), "The sign counter for --key. Never use one twice.")

  package static let description = CommandDescription(
    "write", "Write a value, or several values at once.",
    synopsis: ["ENDPOINT HANDLE VALUE [OPTIONS]", "ENDPOINT --reliable HANDLE VALUE... [OPTIONS]"],
    arguments: [
      .endpoint, .handle,
      ArgumentDescription(
        name: "VALUE",
        summary:
          "The value: hex, text or numbers. \"\" is the empty value, - reads standard input.",
        isRepeatable: true),
    ],
    details: """
      --signed uses the key and the counter that were saved with the bond (see atto pair). The link must
      not be encrypted then (--security low).
      """,
    options: [noResponse, long, reliable, offset, signed, key, counter]
      + ValueNotation.options.map(\.option),
    groups: Connecting.options,
    examples: [
      "atto write air:Strap 0x0017 01", "atto write air:Strap 2A39 1 --u8",
      "atto write air:Sign 2A00@1800 Exit --text",
      "atto write unix:/tmp/peer 0x0020 00ff --no-response",
      "xxd -p FILE | atto write unix:/tmp/peer 0x0020 - --long",
      "atto write unix:/tmp/peer 0x0020 0001 0x0022 02 --reliable",
      "atto write le:AA:BB:CC:DD:EE:FF@hci0 0x0210 01 --signed",
    ])

  private enum Method {
    case request
    case command
    case long(offset: UInt16)
    case reliable
    case signed(key: [UInt8], counter: UInt32)
    case signedWithBond
  }

  private let pairs: [(reference: AttributeReference, value: [UInt8])]
  private let method: Method
  package static var readsInput: Bool { true }
  package var needsStore: Bool { if case .signedWithBond = method { true } else { false } }

  package init(_ arguments: Arguments, for endpoint: Endpoint) throws {
    pairs = try Self.pairs(arguments.operands, ValueNotation(arguments))
    let methods = [Self.noResponse, Self.long, Self.reliable, Self.signed]
      .filter { arguments[$0] }.map { "--" + $0.description.name }
    guard methods.count <= 1 else {
      throw UsageError("\(methods[0]) cannot be combined with \(methods[1])")
    }
    guard pairs.count == 1 || arguments[Self.reliable] else {
      throw UsageError("several pairs of HANDLE VALUE require --reliable")
    }
    let offset = arguments[Self.offset].map { UInt16($0) }
    if offset != nil, let method = methods.first, !arguments[Self.long] {
      throw UsageError("--offset cannot be combined with \(method)")
    }
    let signing = try Self.signing(arguments)
    method =
      if arguments[Self.noResponse] {
        .command
      } else if arguments[Self.reliable] {
        .reliable
      } else if let signing {
        .signed(key: signing.key, counter: signing.counter)
      } else if arguments[Self.signed] {
        .signedWithBond
      } else if arguments[Self.long] || offset != nil {
        .long(offset: offset ?? 0)
      } else {
        .request
      }
    guard !needsStore || endpoint.isRadio else {
      throw UsageError("--signed requires an le: endpoint with a bond, or --key and --counter")
    }
  }

  package static func access(_ arguments: Arguments) -> CommandAccess? {
    // Each handle is followed by its value.
    let handles = arguments.operands.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
    return CommandAccess(handles, isWrite: true)
  }

  package func run(on peer: ConnectedPeer) async throws {
    let connection = peer.connection
    var pairs: [(handle: AttributeHandle, value: [UInt8])] = []
    for pair in self.pairs {
      pairs.append((try await peer.find(pair.reference).handle, pair.value))
    }
    let (handle, value) = pairs[0]
    switch method {
    case .request: try await connection.write(value, to: handle)
    case .command: try await connection.writeWithoutResponse(value, to: handle)
    case .long(let offset): try await connection.writeLong(value, to: handle, offset: offset)
    case .reliable:
      try await connection.writeReliably(pairs.map { LongWrite($0.handle, value: $0.value) })
    case .signed(let key, let counter):
      try await connection.writeSigned(value, to: handle, counter: counter, key: key)
    case .signedWithBond:
      guard let store = peer.store else {
        throw UsageError("--signed requires the store with the bond, or --key and --counter")
      }
      try await connection.writeSigned(value, to: handle, keptIn: store)
    }
    guard peer.results.isJSON else { return }
    for (handle, value) in pairs {
      peer.results.print(json: ["handle": Shown.json(handle), "value": Shown.hex(value)])
    }
  }

  private static func pairs(
    _ words: ArraySlice<String>, _ notation: ValueNotation
  ) throws(UsageError) -> [(reference: AttributeReference, value: [UInt8])] {
    guard !words.isEmpty, words.count % 2 == 0 else {
      throw UsageError("give a handle and a value")
    }
    var pairs: [(AttributeReference, [UInt8])] = []
    for index in stride(from: words.startIndex, to: words.endIndex, by: 2) {
      let reference = try AttributeReference(argument: words[index])
      pairs.append((reference, try notation.octets(words[index + 1])))
    }
    return pairs
  }

  private static func signing(
    _ arguments: Arguments
  ) throws(UsageError) -> (key: [UInt8], counter: UInt32)? {
    if !arguments[signed] { try arguments.forbid([key, counter], "requires --signed") }
    let (key, counter) = (arguments[key], arguments[counter])
    guard (key == nil) == (counter == nil) else {
      throw UsageError("--key and --counter must be given together")
    }
    guard let key, let counter else { return nil }
    return (key, UInt32(counter))
  }
}
