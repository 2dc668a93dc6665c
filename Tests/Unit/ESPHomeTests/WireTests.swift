import TestSupport
import Testing

@testable import AttoESPHome

@Suite(.oneByOne, .needsSodium) struct WireTests {
  static let key = [UInt8](repeating: 7, count: 32)

  init() throws { try Sodium.load() }

  static func plaintext() -> TestWire { TestWire(.none) }
  static func encrypted() -> TestWire { TestWire(.key(key)) }

  static func frame(_ payload: [UInt8]) -> [UInt8] {
    [1, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)] + payload
  }

  @Test func plaintextMessagesInPieces() throws {
    let wire = Self.plaintext()
    let stream = octets("00 00 07  00 02 49 0805  00 00 ff7f")
    var found: [Wire.Message] = []
    for octet in stream {
      wire.receive([octet])
      while let message = try wire.next() { found.append(message) }
    }
    #expect(found.map(\.type) == [7, 0x49, 0x3FFF])
    #expect(found.map { Array($0.body) } == [[], [8, 5], []])
    #expect(wire.waiting == 0)
    #expect(wire.send(type: 300, [1]))
    #expect(wire.outbox == octets("00 01 ac02 01"))
  }

  @Test(
    arguments: [
      ("01 0000", .encryptingClient), ("47 45 54", .preamble(0x47)),
      ("00 ffffffffff", .number), ("00 ffffffffff45", .number), ("00 01 ffffffffff", .number),
      ("00 8140 07", .tooLong(8193, limit: 8192)),
      ("00 ffffffff0f 07", .tooLong(0xFFFF_FFFF, limit: 8192)),
    ] as [(String, WireError)])
  func malformedPlaintext(text: String, error: WireError) throws {
    let wire = Self.plaintext()
    wire.receive(octets(text))
    #expect(throws: error) { try wire.next() }
    // Nothing more is received or sent.
    wire.receive(octets("00 00 07"))
    #expect(try wire.next() == nil)
    #expect(!wire.send(type: 7, []))
    // An encrypting client reads three octets, of which the first tells it what is wrong.
    if error == .encryptingClient { #expect(wire.outbox.first == 0 && wire.outbox.count >= 3) }
  }

  @Test func unfinishedPlaintextIsAwaited() throws {
    let wire = Self.plaintext()
    for octet in octets("00 80 40 07") {
      wire.receive([octet])
      #expect(try wire.next() == nil)
    }
    wire.receive([UInt8](repeating: 0, count: 8192))
    #expect(try wire.next()?.body.count == 8192)
  }

  /// A session from the first octet, with every possible division of the client's stream in two.
  @Test func encryptedSession() throws {
    var initiator = NoiseInitiator(key: Self.key)
    let greeting = Self.frame([]) + Self.frame([0] + initiator.first())
    for cut in 0...greeting.count {
      var initiator = initiator
      let wire = Self.encrypted()
      for piece in [greeting.prefix(cut), greeting.dropFirst(cut)] {
        wire.receive(piece)
        #expect(try wire.next() == nil)
      }
      let hello = Self.frame([1] + Array("hall\0c00102030405\0".utf8))
      #expect(wire.outbox.starts(with: hello))
      let answer = Array(wire.outbox.dropFirst(hello.count))
      #expect(Array(answer.prefix(4)) == [1, 0, 49, 0])
      let finished = initiator.finish(Array(answer.dropFirst(4)))
      var ciphers = try #require(finished)
      wire.outbox = []
      #expect(wire.isOpen)
      let sealed = ciphers.outgoing.seal(octets("0001 0002 0801"))
      wire.receive(Self.frame(try #require(sealed)))
      let message = try #require(try wire.next())
      #expect(message.type == 1 && Array(message.body) == [8, 1])
      #expect(wire.send(type: 2, [9]))
      let text = ciphers.incoming.open(Array(wire.outbox.dropFirst(3)))
      #expect(text == octets("0002 0001 09"))
    }
  }

  @Test func wrongKey() throws {
    let wire = Self.encrypted()
    var initiator = NoiseInitiator(key: [UInt8](repeating: 8, count: 32))
    wire.receive(Self.frame([]) + Self.frame([0] + initiator.first()))
    #expect(throws: WireError.wrongKey) { try wire.next() }
    // Clients look for exactly this.
    let refusal = Self.frame([1] + Array("Handshake MAC failure".utf8))
    #expect(wire.outbox.suffix(refusal.count).elementsEqual(refusal))
  }

  @Test(
    arguments: [
      ("00 00 01", .plaintextClient), ("16 03 01", .preamble(0x16)),
      ("01 0081", .tooLong(129, limit: 128)), ("01 ffff", .tooLong(65_535, limit: 128)),
      ("01 0000 01 0000", .handshake("Empty handshake message")),
      ("01 0000 01 0001 01", .handshake("Bad handshake error byte")),
      ("01 0000 01 0003 000102", .handshake("Handshake error")),
    ] as [(String, WireError)])
  func malformedGreeting(text: String, error: WireError) throws {
    let wire = Self.encrypted()
    wire.receive(octets(text))
    #expect(throws: error) { try wire.next() }
    // A plaintext client sees 1 first, and says that encryption is required.
    #expect(wire.outbox.first == 1)
    #expect(try wire.next() == nil)
  }

  @Test func changedMessage() throws {
    var initiator = NoiseInitiator(key: Self.key)
    let wire = Self.encrypted()
    wire.receive(Self.frame([]) + Self.frame([0] + initiator.first()))
    #expect(try wire.next() == nil)
    wire.outbox = []
    wire.receive(Self.frame([UInt8](repeating: 0, count: 20)))
    #expect(throws: WireError.notAuthentic) { try wire.next() }
    #expect(wire.outbox.isEmpty)
  }

  @Test func longBodyIsNotSent() {
    let wire = Self.plaintext()
    #expect(!wire.send(type: 1, [UInt8](repeating: 0, count: Wire.longestBody + 1)))
    #expect(wire.send(type: 1, [UInt8](repeating: 0, count: Wire.longestBody)))
  }
}

/// A wire that can be used in expectations, which copy what they mention.
final class TestWire {
  private var wire: Wire

  init(_ protection: Wire.Protection) {
    wire = Wire(protection, name: "hall", address: "c00102030405")
  }

  var outbox: [UInt8] {
    get { wire.outbox }
    set { wire.outbox = newValue }
  }
  var isOpen: Bool { wire.isOpen }
  var waiting: Int { wire.waiting }
  func receive(_ octets: some Collection<UInt8>) { wire.receive(octets) }
  func next() throws(WireError) -> Wire.Message? { try wire.next() }
  func send(type: UInt16, _ body: [UInt8]) -> Bool { wire.send(type: type, body) }
}
