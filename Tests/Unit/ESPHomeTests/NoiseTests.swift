import TestSupport
import Testing

@testable import AttoESPHome

/// The handshake against a published vector: cacophony's, as the crate snow carries it
/// (tests/vectors/cacophony.txt, Noise_NNpsk0_25519_ChaChaPoly_SHA256).
@Suite(.oneByOne, .needsSodium) struct NoiseTests {
  static let prologue = octets("4a6f686e2047616c74")
  static let key = octets("54686973206973206d7920417573747269616e20706572737065637469766521")
  static let first = octets(
    """
    ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944
    79b962b8aff8485742ac32f905ba45369e2465fb59e138a93d67a0d1266b6a54
    """)

  init() throws { try Sodium.load() }

  static func handshake(key: [UInt8] = key) -> NoiseHandshake {
    NoiseHandshake(
      key: key, prologue: prologue,
      ephemeral: octets("bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b"))
  }

  @Test func publishedVector() throws {
    var done = try Self.handshake().answer(
      Self.first, payload: octets("4d757272617920526f746862617264"))
    #expect(done.payload == octets("4c756477696720766f6e204d69736573"))
    #expect(
      done.answer
        == octets(
          """
          95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843
          d6062704d5a9c422a8e834423f8c1feada7e8d0d910a1a2cd030fb584221e3
          """))
    #expect(
      done.hash == octets("f4d03dc34495c95729ea6de9e1b59004b59733102488b3e24bc441e0be208eaf"))
    // The messages of the session, in turn from the initiator and from the responder.
    let third = done.incoming.open(
      octets("e632c3763d7669067383433197a3baddf146e9e70ad4b4e9e59e0f"))
    #expect(third == octets("462e20412e20486179656b"))
    let fourth = done.outgoing.seal(octets("4361726c204d656e676572"))
    #expect(fourth == octets("64c6bee32ea91c8474bb4c21d7a700109ad45af77b29764ba5eb1e"))
    let fifth = done.incoming.open(
      octets("e2fa0bed0603b62d3ccac2ecabbf3fe33f3e86514909b323361626266cb2471cc8"))
    #expect(fifth == octets("4a65616e2d426170746973746520536179"))
    let sixth = done.outgoing.seal(octets("457567656e2042f6686d20766f6e2042617765726b"))
    #expect(
      sixth
        == octets("0c01dc9cec1fe4ddd692e8dd32188aa351088dc91183639a53b57aa4692b5ebdef8b8ca111"))
  }

  @Test func everyChangedOctetIsRefused() {
    for index in Self.first.indices {
      var changed = Self.first
      changed[index] ^= 0x40
      #expect(throws: NoiseHandshake.Failure.authentication) {
        try Self.handshake().answer(changed)
      }
    }
  }

  @Test func anotherKeyIsRefused() {
    #expect(throws: NoiseHandshake.Failure.authentication) {
      try Self.handshake(key: Array(repeating: 1, count: 32)).answer(Self.first)
    }
  }

  @Test(arguments: [0, 1, 32, 47]) func shortMessageIsRefused(length: Int) {
    #expect(throws: NoiseHandshake.Failure.length(length)) {
      try Self.handshake().answer(Array(Self.first.prefix(length)))
    }
  }

  /// A key of low order makes a shared secret that everybody knows. Its sender must know the
  /// pre-shared key to get that far.
  @Test func weakKeyIsRefused() {
    let initiator = NoiseInitiator(key: Self.key, prologue: Self.prologue)
    let message = initiator.message(publicKey: Array(repeating: 0, count: 32))
    #expect(throws: NoiseHandshake.Failure.weakKey) { try Self.handshake().answer(message) }
  }

  @Test func reorderedMessageIsRefused() throws {
    var done = try Self.handshake().answer(Self.first)
    let second = octets("e2fa0bed0603b62d3ccac2ecabbf3fe33f3e86514909b323361626266cb2471cc8")
    let text = done.incoming.open(second)
    #expect(text == nil)
  }
}

/// The initiator's side, for tests.
struct NoiseInitiator {
  private var state: NoiseSymmetricState
  private let ephemeral = Array(1...32) as [UInt8]

  init(key: [UInt8], prologue: [UInt8] = Array("NoiseAPIInit".utf8) + [0, 0]) {
    state = NoiseSymmetricState(protocolName: NoiseHandshake.protocolName, prologue: prologue)
    state.mixKeyAndHash(key)
  }

  /// The first message, without changing the state.
  func message(publicKey: [UInt8]) -> [UInt8] {
    var copy = self
    return copy.first(publicKey: publicKey)
  }

  mutating func first(publicKey: [UInt8]? = nil) -> [UInt8] {
    let key = publicKey ?? Sodium.publicKey(of: ephemeral)
    state.mixHash(key)
    state.mixKey(key)
    return key + (state.sealAndHash([]) ?? [])
  }

  /// The session's ciphers after the second message.
  mutating func finish(_ message: [UInt8]) -> (incoming: NoiseCipher, outgoing: NoiseCipher)? {
    let theirs = Array(message.prefix(32))
    state.mixHash(theirs)
    state.mixKey(theirs)
    guard let secret = Sodium.sharedSecret(ephemeral, theirs) else { return nil }
    state.mixKey(secret)
    guard state.openAndHash(Array(message.dropFirst(32))) != nil else { return nil }
    let ciphers = state.split()
    return (ciphers.responder, ciphers.initiator)
  }
}

extension Trait where Self == ConditionTrait {
  static var needsSodium: Self {
    .enabled(if: (try? Sodium.load()) != nil, "not installed: libsodium23")
  }
}
