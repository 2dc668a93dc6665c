/// AES-CMAC with a 128-bit key (RFC 4493), for the Database Hash (Vol 3, Part G, 7.3) and signed
/// writes (Vol 3, Part H, 2.4.5).
///
/// It is implemented here because this module imports nothing, `atto` links only libc, and
/// containers lack the kernel's AF_ALG. Only the forward cipher is needed. Substitution uses a
/// table, so the time may depend on the key through the processor's cache. That is acceptable: the
/// hash has no secret, and an attack on signatures requires code on the same machine.
///
/// Octets are in the order of the RFC, most significant first.
struct AESCMAC {
  private let schedule: [UInt8]
  private var chain = [UInt8](repeating: 0, count: 16)
  private var block: [UInt8] = []

  /// - Parameter key: 16 octets.
  init(key: [UInt8]) {
    schedule = AES128.expand(key)
    block.reserveCapacity(16)
  }

  mutating func update(_ octet: UInt8) {
    if block.count == 16 {
      for i in 0..<16 { chain[i] ^= block[i] }
      AES128.encrypt(&chain, schedule)
      block.removeAll(keepingCapacity: true)
    }
    block.append(octet)
  }

  @inline(never) mutating func update(_ octets: [UInt8]) {
    for octet in octets { update(octet) }
  }

  /// Returns the 16 octets of the code.
  consuming func finish() -> [UInt8] {
    var zero = [UInt8](repeating: 0, count: 16)
    AES128.encrypt(&zero, schedule)
    var subkey = Self.double(zero)
    if block.count < 16 {
      subkey = Self.double(subkey)
      block.append(0x80)
      while block.count < 16 { block.append(0) }
    }
    for i in 0..<16 { chain[i] ^= block[i] ^ subkey[i] }
    AES128.encrypt(&chain, schedule)
    return chain
  }

  /// Multiplies by x in the field of 2^128 elements.
  private static func double(_ value: [UInt8]) -> [UInt8] {
    var result = value
    var carry: UInt8 = 0
    for i in stride(from: 15, through: 0, by: -1) {
      result[i] = value[i] << 1 | carry
      carry = value[i] >> 7
    }
    if carry == 1 { result[15] ^= 0x87 }
    return result
  }
}

/// The forward cipher of AES with a 128-bit key. FIPS 197.
package enum AES128 {
  /// The 11 round keys. The key has 16 octets.
  package static func expand(_ key: [UInt8]) -> [UInt8] {
    precondition(key.count == 16)
    var words = key
    words.reserveCapacity(176)
    var constant: UInt8 = 1
    for index in 4..<44 {
      var word = (
        words[index * 4 - 4], words[index * 4 - 3], words[index * 4 - 2], words[index * 4 - 1]
      )
      if index % 4 == 0 {
        word = (
          substitution[Int(word.1)] ^ constant, substitution[Int(word.2)],
          substitution[Int(word.3)], substitution[Int(word.0)]
        )
        constant = double(constant)
      }
      words.append(words[index * 4 - 16] ^ word.0)
      words.append(words[index * 4 - 15] ^ word.1)
      words.append(words[index * 4 - 14] ^ word.2)
      words.append(words[index * 4 - 13] ^ word.3)
    }
    return words
  }

  /// Encrypts a block of 16 octets with the round keys.
  package static func encrypt(_ state: inout [UInt8], _ schedule: [UInt8]) {
    var shifted = [UInt8](repeating: 0, count: 16)
    for i in 0..<16 { state[i] ^= schedule[i] }
    for round in 1...10 {
      // Substitutes octets and shifts rows in one pass: row r moves by r columns.
      for column in 0..<4 {
        for row in 0..<4 {
          shifted[column * 4 + row] = substitution[Int(state[(column + row) % 4 * 4 + row])]
        }
      }
      for column in stride(from: 0, to: 16, by: 4) {
        let (a, b, c, d) = (
          shifted[column], shifted[column + 1], shifted[column + 2], shifted[column + 3]
        )
        if round < 10 {
          let all = a ^ b ^ c ^ d
          shifted[column] = a ^ all ^ double(a ^ b)
          shifted[column + 1] = b ^ all ^ double(b ^ c)
          shifted[column + 2] = c ^ all ^ double(c ^ d)
          shifted[column + 3] = d ^ all ^ double(d ^ a)
        }
        for row in column..<column + 4 { state[row] = shifted[row] ^ schedule[round * 16 + row] }
      }
    }
  }

  private static func double(_ value: UInt8) -> UInt8 {
    value << 1 ^ (value >> 7 == 1 ? 0x1B : 0)
  }

  /// The S-box, computed once from its definition: the inverse in the field of 256 elements,
  /// then an affine map. It is not in the heap, because in the C library each device has its own.
  private static let substitution: InlineArray<256, UInt8> = {
    var table = InlineArray<256, UInt8>(repeating: 0)
    var (p, q) = (UInt8(1), UInt8(1))
    repeat {
      // p runs through the powers of 3, q through their inverses.
      p = p ^ double(p)
      q ^= q << 1
      q ^= q << 2
      q ^= q << 4
      if q & 0x80 != 0 { q ^= 0x09 }
      let rotated = q ^ rotate(q, 1) ^ rotate(q, 2) ^ rotate(q, 3) ^ rotate(q, 4)
      table[Int(p)] = rotated ^ 0x63
    } while p != 1
    table[0] = 0x63
    return table
  }()

  private static func rotate(_ value: UInt8, _ count: UInt8) -> UInt8 {
    value << count | value >> (8 - count)
  }
}
