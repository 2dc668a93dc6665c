/// The responder's side of the handshake Noise_NNpsk0_25519_ChaChaPoly_SHA256.
///
/// # Theory
/// Neither end has a static key (NN); both know a pre-shared one (psk), which is mixed in before the
/// first message (psk0). Each sends one message:
///
///     -> psk, e    the initiator's ephemeral key, and a tag
///     <- e, ee     the responder's ephemeral key, and a tag
///
/// The tag of the first message shows that the initiator knows the pre-shared key; so the wrong key is
/// told from a damaged session before anything is answered. The keys of the session are derived from
/// both ephemeral keys and the pre-shared one: who learns that later cannot read what was recorded.
///
///     waiting --first message--> established (two ciphers)
///        '-----anything else---> NoiseError
///
/// A recorded first message can be sent again. Its sender gets an answer, but not the session's keys.
struct NoiseHandshake {
  static let protocolName = "Noise_NNpsk0_25519_ChaChaPoly_SHA256"
  /// An ephemeral key and the tag of an empty payload.
  static let messageLength = 48

  /// Why a first message was refused.
  enum Failure: Error, Hashable, Sendable {
    /// It is shorter than a key and a tag.
    case length(Int)
    /// Its tag is wrong: the initiator's pre-shared key is another one.
    case authentication
    /// Its key is of low order, which no honest initiator sends.
    case weakKey
  }

  /// The result: the second message, the ciphers of both directions, and what the initiator said.
  struct Established {
    var answer: [UInt8]
    var incoming: NoiseCipher
    var outgoing: NoiseCipher
    var payload: [UInt8]
    /// Names the session. The same at both ends.
    var hash: [UInt8]
  }

  private var state: NoiseSymmetricState
  private let ephemeral: [UInt8]

  /// - Parameters:
  ///   - key: the pre-shared key, 32 octets.
  ///   - ephemeral: the secret key of this handshake; nil for a random one. Only tests give it.
  init(key: [UInt8], prologue: [UInt8], ephemeral: [UInt8]? = nil) {
    precondition(key.count == 32)
    state = NoiseSymmetricState(protocolName: Self.protocolName, prologue: prologue)
    state.mixKeyAndHash(key)
    self.ephemeral = ephemeral ?? Sodium.random(32)
  }

  /// Consumes the initiator's message and answers it.
  consuming func answer(
    _ message: [UInt8], payload: [UInt8] = []
  ) throws(Failure) -> Established {
    guard message.count >= Self.messageLength else { throw .length(message.count) }
    let theirs = Array(message.prefix(32))
    state.mixHash(theirs)
    state.mixKey(theirs)
    guard let text = state.openAndHash(Array(message.dropFirst(32))) else { throw .authentication }
    let ours = Sodium.publicKey(of: ephemeral)
    state.mixHash(ours)
    state.mixKey(ours)
    guard let shared = Sodium.sharedSecret(ephemeral, theirs) else { throw .weakKey }
    state.mixKey(shared)
    guard let sealed = state.sealAndHash(payload) else { throw .authentication }
    let ciphers = state.split()
    return Established(
      answer: ours + sealed, incoming: ciphers.initiator, outgoing: ciphers.responder,
      payload: text, hash: state.hash)
  }
}
