/// AES-CCM with a 128-bit key and a code of 4 octets (RFC 3610), as encrypted advertising data and
/// sensors use it.
package struct AESCCM {
  package static let tagLength = 4
  private let schedule: [UInt8]

  /// The key must have 16 octets.
  package init(key: [UInt8]) { schedule = AES128.expand(key) }

  /// Decrypts a message that ends with its code. Returns nil if the code is wrong, or if a length
  /// is not possible: a nonce has 7 to 13 octets, associated data fewer than 65280, a message fewer
  /// than 65536.
  package func decrypt(
    _ sealed: some Collection<UInt8>, nonce: [UInt8], associatedData: [UInt8] = []
  ) -> [UInt8]? {
    guard 7...13 ~= nonce.count, sealed.count >= Self.tagLength, sealed.count < 0x10000,
      associatedData.count < 0xFF00
    else { return nil }
    let message = combined(Array(sealed.dropLast(Self.tagLength)), nonce)
    let code = code(of: message, nonce, associatedData)
    var difference: UInt8 = 0
    for (given, computed) in zip(sealed.suffix(Self.tagLength), code) {
      difference |= given ^ computed
    }
    return difference == 0 ? message : nil
  }

  /// Encrypts a message and appends its code. Lengths must be possible, as for
  /// ``decrypt(_:nonce:associatedData:)``.
  package func encrypt(
    _ message: [UInt8], nonce: [UInt8], associatedData: [UInt8] = []
  ) -> [UInt8] {
    precondition(
      7...13 ~= nonce.count && message.count < 0x10000 && associatedData.count < 0xFF00)
    return combined(message, nonce) + code(of: message, nonce, associatedData)
  }

  /// A message combined with the key stream, which encrypts and decrypts.
  private func combined(_ message: [UInt8], _ nonce: [UInt8]) -> [UInt8] {
    var message = message
    for start in stride(from: 0, to: message.count, by: 16) {
      let stream = keyStream(start / 16 + 1, nonce)
      for index in start..<min(start + 16, message.count) {
        message[index] ^= stream[index - start]
      }
    }
    return message
  }

  private func keyStream(_ counter: Int, _ nonce: [UInt8]) -> [UInt8] {
    var block = Self.block(flags: UInt8(14 - nonce.count), nonce, counter)
    AES128.encrypt(&block, schedule)
    return block
  }

  /// The encrypted CBC-MAC of the lengths, the associated data and the message.
  private func code(of message: [UInt8], _ nonce: [UInt8], _ associated: [UInt8]) -> [UInt8] {
    let flags =
      UInt8(14 - nonce.count) | UInt8(Self.tagLength - 2) << 2 | (associated.isEmpty ? 0 : 0x40)
    var input = Self.block(flags: flags, nonce, message.count)
    if !associated.isEmpty {
      input += [UInt8(associated.count >> 8), UInt8(associated.count & 0xFF)] + associated
      input += [UInt8](repeating: 0, count: -input.count & 15)
    }
    input += message
    input += [UInt8](repeating: 0, count: -input.count & 15)
    var chain = [UInt8](repeating: 0, count: 16)
    for start in stride(from: 0, to: input.count, by: 16) {
      for index in 0..<16 { chain[index] ^= input[start + index] }
      AES128.encrypt(&chain, schedule)
    }
    return zip(chain, keyStream(0, nonce)).prefix(Self.tagLength).map { $0 ^ $1 }
  }

  /// The flags, the nonce, and a number that fills the block.
  private static func block(flags: UInt8, _ nonce: [UInt8], _ number: Int) -> [UInt8] {
    let padding = [UInt8](repeating: 0, count: 13 - nonce.count)
    return [flags] + nonce + padding + [UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)]
  }
}
