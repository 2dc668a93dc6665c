/// The server's end of one client's stream: frames and their encryption. Octets go in and come out;
/// messages are types with bodies.
///
/// # Theory
///     plaintext:  session
///     encrypted:  hello --frame--> handshake --frame with the first Noise message--> session
///
/// Plaintext frame: 0, length of the body (varint), type (varint), body.
/// Encrypted frame: 1, length (16 bits, big-endian), and
/// - hello: any octets, usually none. The answer names the protocol, the server and its address.
/// - handshake: 0 and the Noise message; the answer has the same form. A refusal begins with 1
///   instead, and a text follows.
/// - session: a Noise transport message of type (16 bits), length (16 bits) and body.
///
/// The prologue of the handshake covers the client's hello, with its length before it.
///
/// After an error nothing more is received. ``outbox`` then holds what tells the client why: its own
/// end of the protocol reports the first octet that it did not expect, so a refusal has the server's
/// form, not the client's.
package struct Wire: ~Copyable {
  /// How a server protects its streams.
  package enum Protection: Equatable, Sendable {
    case none
    /// The pre-shared key of 32 octets.
    case key([UInt8])
  }

  /// A message as it was received.
  package struct Message: Equatable {
    package let type: UInt64
    package let body: ArraySlice<UInt8>
  }

  /// The longest frame of a client in a session, in octets. Its longest message writes 512 octets.
  package static let longestFrame = 8192
  /// The longest frame before that.
  static let longestGreeting = 128
  /// The longest body that can be sent: with its header and tag it fits into a frame.
  package static let longestBody = 65_535 - 4 - 16

  private enum Phase {
    case plaintext
    case hello(key: [UInt8])
    case handshake(NoiseHandshake)
    case session(incoming: NoiseCipher, outgoing: NoiseCipher)
    case failed
  }

  private var phase: Phase
  private let greeting: [UInt8]
  private let ephemeral: [UInt8]?
  private var input: [UInt8] = []
  private var start = 0

  /// What is to be sent. The owner takes it and leaves it empty.
  package var outbox: [UInt8] = []

  /// - Parameters:
  ///   - name: the server's, and `address` its MAC address: 12 hex digits. An encrypting client checks
  ///     them before it goes on.
  ///   - ephemeral: the secret key of the handshake; nil for a random one. Only tests give it.
  package init(
    _ protection: Protection, name: String, address: String, ephemeral: [UInt8]? = nil
  ) {
    switch protection {
    case .none: phase = .plaintext
    case .key(let key): phase = .hello(key: key)
    }
    greeting = Self.greeting(name: name, address: address)
    self.ephemeral = ephemeral
  }

  /// The server's first frame: the protocol that it has chosen, its name and its address.
  static func greeting(name: String, address: String) -> [UInt8] {
    [1] + Array(name.utf8) + [0] + Array(address.utf8) + [0]
  }

  /// Whether messages can be sent.
  package var isOpen: Bool {
    switch phase {
    case .plaintext, .session: true
    case .hello, .handshake, .failed: false
    }
  }

  /// Octets that were received and are not a whole message yet.
  package var waiting: Int { input.count - start }

  /// Adds what was received. ``next()`` then returns the messages in it.
  package mutating func receive(_ octets: some Collection<UInt8>) {
    if start > 0 {
      input.removeFirst(start)
      start = 0
    }
    input.append(contentsOf: octets)
  }

  /// The next message, nil until more octets are there. Also answers the handshake.
  package mutating func next() throws(WireError) -> Message? {
    do throws(WireError) {
      while true {
        switch phase {
        case .failed: return nil
        case .plaintext: return try nextPlaintext()
        case .hello, .handshake, .session:
          guard let frame = try nextFrame() else { return nil }
          if let message = try advance(frame) { return message }
        }
      }
    } catch {
      if !isOpen { refuse(error) }
      phase = .failed
      throw error
    }
  }

  /// Queues a message. False if it is too long, or there is no session.
  package mutating func send(type: UInt16, _ body: [UInt8]) -> Bool {
    guard body.count <= Self.longestBody else { return false }
    switch phase {
    case .plaintext:
      outbox.append(0)
      ProtobufWriter.append(UInt64(body.count), to: &outbox)
      ProtobufWriter.append(UInt64(type), to: &outbox)
      outbox.append(contentsOf: body)
      return true
    case .session(let incoming, var outgoing):
      let text = Self.bigEndian(Int(type)) + Self.bigEndian(body.count) + body
      guard let sealed = outgoing.seal(text) else { return false }
      phase = .session(incoming: incoming, outgoing: outgoing)
      appendFrame(sealed)
      return true
    case .hello, .handshake, .failed: return false
    }
  }
}

extension Wire {
  /// The octets for a client that is refused before anything was received. A plaintext client
  /// cannot be told the reason.
  static func refusal(_ text: String, isEncrypted: Bool, greeting: [UInt8]) -> [UInt8] {
    guard isEncrypted else { return [] }
    return frame(greeting) + frame([1] + Array(text.utf8))
  }
}

// Receiving.
extension Wire {
  private mutating func nextPlaintext() throws(WireError) -> Message? {
    var rest = input[start...]
    guard let preamble = rest.first else { return nil }
    guard preamble == 0 else {
      // An encrypting client takes a frame that begins with 0 for one of a plaintext server.
      outbox.append(contentsOf: [0] + Array("Bad indicator byte".utf8))
      throw preamble == 1 ? .encryptingClient : .preamble(preamble)
    }
    rest.removeFirst()
    guard let length = try Self.number(&rest) else { return nil }
    guard length <= Self.longestFrame else { throw .tooLong(length, limit: Self.longestFrame) }
    guard let type = try Self.number(&rest) else { return nil }
    guard rest.count >= length else { return nil }
    let body = rest.prefix(Int(length))
    start = body.endIndex
    return Message(type: type, body: body)
  }

  /// Nil if the octets end within the number. Nobody needs more than 32 bits here, so a longer one is
  /// not awaited.
  private static func number(_ rest: inout ArraySlice<UInt8>) throws(WireError) -> UInt64? {
    let first = rest.prefix(5)
    guard first.count < 5 || first.contains(where: { $0 < 0x80 }) else { throw .number }
    do throws(ProtobufError) {
      return try ProtobufReader.varint(&rest)
    } catch {
      throw .number
    }
  }

  private mutating func nextFrame() throws(WireError) -> ArraySlice<UInt8>? {
    let rest = input[start...]
    guard let preamble = rest.first else { return nil }
    guard preamble == 1 else { throw preamble == 0 ? .plaintextClient : .preamble(preamble) }
    guard rest.count >= 3 else { return nil }
    let length = Int(rest[start + 1]) << 8 | Int(rest[start + 2])
    let limit = isOpen ? Self.longestFrame : Self.longestGreeting
    guard length <= limit else { throw .tooLong(UInt64(length), limit: limit) }
    let frame = rest.dropFirst(3).prefix(length)
    guard frame.count == length else { return nil }
    start = frame.endIndex
    return frame
  }

  private mutating func advance(_ frame: ArraySlice<UInt8>) throws(WireError) -> Message? {
    switch phase {
    case .hello(let key):
      let prologue = Array("NoiseAPIInit".utf8) + Self.bigEndian(frame.count) + frame
      phase = .handshake(NoiseHandshake(key: key, prologue: prologue, ephemeral: ephemeral))
      appendFrame(greeting)
      return nil
    case .handshake(let handshake):
      guard let indicator = frame.first else { throw .handshake("Empty handshake message") }
      guard indicator == 0 else { throw .handshake("Bad handshake error byte") }
      let established: NoiseHandshake.Established
      do throws(NoiseHandshake.Failure) {
        established = try handshake.answer(Array(frame.dropFirst()))
      } catch {
        throw error == .authentication ? .wrongKey : .handshake("Handshake error")
      }
      appendFrame([0] + established.answer)
      phase = .session(incoming: established.incoming, outgoing: established.outgoing)
      return nil
    case .session(var incoming, let outgoing):
      guard let text = incoming.open(Array(frame)) else { throw .notAuthentic }
      phase = .session(incoming: incoming, outgoing: outgoing)
      guard text.count >= 4 else { throw .short(text.count) }
      // The length that follows the type is that of the frame again.
      return Message(type: UInt64(text[0]) << 8 | UInt64(text[1]), body: text.dropFirst(4))
    case .plaintext, .failed: return nil
    }
  }

  /// Tells a client whose handshake failed. The texts are those that clients know.
  private mutating func refuse(_ error: WireError) {
    let text =
      switch error {
      case .wrongKey: "Handshake MAC failure"
      case .handshake(let text): text
      case .plaintextClient, .encryptingClient, .preamble: "Bad indicator byte"
      case .tooLong, .number, .notAuthentic, .short: "Packet too large"
      }
    appendFrame([1] + Array(text.utf8))
  }

  private mutating func appendFrame(_ payload: [UInt8]) {
    outbox.append(contentsOf: Self.frame(payload))
  }

  private static func frame(_ payload: [UInt8]) -> [UInt8] {
    [1] + bigEndian(payload.count) + payload
  }

  private static func bigEndian(_ value: Int) -> [UInt8] {
    [UInt8(truncatingIfNeeded: value >> 8), UInt8(truncatingIfNeeded: value)]
  }
}
