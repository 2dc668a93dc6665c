/// One direction of an encrypted session: a key, and the number of the next message, which is its nonce.
struct NoiseCipher {
  private let key: [UInt8]
  private var count: UInt64 = 0

  init(key: [UInt8]) { self.key = key }

  /// Nil once 2^64 - 1 messages were sealed; that number is reserved.
  mutating func seal(_ text: [UInt8], additional: [UInt8] = []) -> [UInt8]? {
    guard let nonce = nextNonce() else { return nil }
    return Sodium.seal(text, additional: additional, nonce: nonce, key: key)
  }

  /// Nil if the octets are not the peer's next message.
  mutating func open(_ sealed: [UInt8], additional: [UInt8] = []) -> [UInt8]? {
    guard let nonce = nextNonce() else { return nil }
    return Sodium.open(sealed, additional: additional, nonce: nonce, key: key)
  }

  private mutating func nextNonce() -> [UInt8]? {
    guard count < .max else { return nil }
    defer { count += 1 }
    return [0, 0, 0, 0] + (0..<8).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }
  }
}

/// The state that both ends of a handshake compute: a chaining key, a hash of all that was said, and a
/// cipher once there is a key. Noise Protocol Framework, revision 34, section 5.2.
struct NoiseSymmetricState {
  private(set) var chainingKey: [UInt8]
  private(set) var hash: [UInt8]
  private var cipher: NoiseCipher?

  init(protocolName: String, prologue: [UInt8]) {
    let name = Array(protocolName.utf8)
    // A shorter name is padded instead of hashed.
    hash = name.count <= 32 ? name + Array(repeating: 0, count: 32 - name.count) : Sodium.hash(name)
    chainingKey = hash
    mixHash(prologue)
  }

  mutating func mixHash(_ octets: [UInt8]) { hash = Sodium.hash(hash + octets) }

  mutating func mixKey(_ octets: [UInt8]) {
    let keys = derive(octets, 2)
    chainingKey = keys[0]
    cipher = NoiseCipher(key: keys[1])
  }

  mutating func mixKeyAndHash(_ octets: [UInt8]) {
    let keys = derive(octets, 3)
    chainingKey = keys[0]
    mixHash(keys[1])
    cipher = NoiseCipher(key: keys[2])
  }

  /// Both need a key: in a pattern that begins with a pre-shared one there always is.
  mutating func sealAndHash(_ text: [UInt8]) -> [UInt8]? {
    guard let sealed = cipher?.seal(text, additional: hash) else { return nil }
    mixHash(sealed)
    return sealed
  }

  mutating func openAndHash(_ sealed: [UInt8]) -> [UInt8]? {
    guard let text = cipher?.open(sealed, additional: hash) else { return nil }
    mixHash(sealed)
    return text
  }

  /// The ciphers of the session: the initiator's and the responder's.
  func split() -> (initiator: NoiseCipher, responder: NoiseCipher) {
    let keys = derive([], 2)
    return (NoiseCipher(key: keys[0]), NoiseCipher(key: keys[1]))
  }

  /// HKDF as section 4.3 has it.
  private func derive(_ octets: [UInt8], _ count: UInt8) -> [[UInt8]] {
    let key = Sodium.authentication(of: octets, key: chainingKey)
    var keys: [[UInt8]] = []
    for number in 1...count {
      keys.append(Sodium.authentication(of: (keys.last ?? []) + [number], key: key))
    }
    return keys
  }
}
