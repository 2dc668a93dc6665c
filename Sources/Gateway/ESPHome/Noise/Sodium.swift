import CAttoSodium

/// libsodium could not be loaded.
package struct SodiumError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The loader's words.
  package let reason: String

  package var description: String {
    """
    cannot load libsodium, which encrypts the ESPHome interface: \(reason)
    hint: install it: apt install libsodium23
    """
  }
}

/// The functions of libsodium that the Noise handshake needs.
enum Sodium {
  /// Loads the library. All other functions may be called only after this.
  static func load() throws(SodiumError) {
    guard csodium_load() == 0 else {
      throw SodiumError(reason: String(cString: csodium_load_error()))
    }
  }

  static func random(_ count: Int) -> [UInt8] {
    filled(count) { csodium_random($0, count) }
  }

  static func hash(_ octets: [UInt8]) -> [UInt8] {
    filled(CSODIUM_HASH) { csodium_sha256($0, octets, octets.count) }
  }

  static func authentication(of octets: [UInt8], key: [UInt8]) -> [UInt8] {
    precondition(key.count == CSODIUM_KEY)
    return filled(CSODIUM_HASH) { csodium_hmac_sha256($0, octets, octets.count, key) }
  }

  static func publicKey(of secret: [UInt8]) -> [UInt8] {
    precondition(secret.count == CSODIUM_KEY)
    return filled(CSODIUM_KEY) { csodium_public_key($0, secret) }
  }

  /// Nil if the peer's key is of low order, so that the result would not be secret.
  static func sharedSecret(_ secret: [UInt8], _ key: [UInt8]) -> [UInt8]? {
    precondition(secret.count == CSODIUM_KEY && key.count == CSODIUM_KEY)
    var isSecret = false
    let result = filled(CSODIUM_KEY) { isSecret = csodium_shared_secret($0, secret, key) == 0 }
    return isSecret ? result : nil
  }

  static func seal(
    _ text: [UInt8], additional: [UInt8], nonce: [UInt8], key: [UInt8]
  ) -> [UInt8] {
    precondition(nonce.count == CSODIUM_NONCE && key.count == CSODIUM_KEY)
    return filled(text.count + CSODIUM_TAG) {
      csodium_seal($0, text, text.count, additional, additional.count, nonce, key)
    }
  }

  /// Nil if the octets are not what the peer sealed.
  static func open(
    _ sealed: [UInt8], additional: [UInt8], nonce: [UInt8], key: [UInt8]
  ) -> [UInt8]? {
    precondition(nonce.count == CSODIUM_NONCE && key.count == CSODIUM_KEY)
    guard sealed.count >= CSODIUM_TAG else { return nil }
    var isOpen = false
    let text = filled(sealed.count - CSODIUM_TAG) {
      isOpen = csodium_open($0, sealed, sealed.count, additional, additional.count, nonce, key) == 0
    }
    return isOpen ? text : nil
  }

  private static func filled(
    _ count: Int, _ fill: (UnsafeMutablePointer<UInt8>) -> Void
  ) -> [UInt8] {
    // One octet of room at least, so that there is an address.
    var octets = [UInt8](repeating: 0, count: max(count, 1))
    octets.withUnsafeMutableBufferPointer { fill($0.baseAddress!) }
    if count == 0 { octets.removeAll() }
    return octets
  }
}
