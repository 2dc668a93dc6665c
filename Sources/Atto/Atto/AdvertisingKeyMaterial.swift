import AttoGATT
public import AttoRadio

/// The keys that encrypt a device's advertising data, which it shares with the scanners that may
/// read them. Supplement to the Core Specification, Part A, 1.23.
///
/// They are the value of the characteristic Encrypted Data Key Material (2B88) of the GAP service,
/// which a client reads over an encrypted link (Vol 3, Part C, 12.6).
///
/// # Theory
/// The structure Encrypted Data holds a randomizer, other structures encrypted by AES-CCM, and a
/// code of 4 octets:
///
///     randomizer (5)   ciphertext   code (4)
///
/// The nonce is the randomizer and the initialization vector, so one randomizer must never encrypt
/// two contents. The code also covers an octet, EA, that no other use of the key has.
public struct AdvertisingKeyMaterial: Hashable, Sendable {
  /// The octets of the keys.
  public static let length = 24
  private static let randomizerLength = 5
  private static let associatedData: [UInt8] = [0xEA]

  /// The session key of 16 octets, then the initialization vector of 8.
  public let octets: [UInt8]

  /// Creates keys from the characteristic's value; nil unless it has ``length`` octets.
  public init?(_ octets: [UInt8]) {
    guard octets.count == Self.length else { return nil }
    self.octets = octets
  }

  /// The structure that holds this data encrypted, with a random randomizer, for
  /// `AdvertisingData.others`. Flags are left out, because scanners need to read them.
  ///
  /// - Throws: `AdvertisingDataError.doesNotFit` for the first field that makes it longer than a
  ///   structure can be.
  public func encrypted(_ data: AdvertisingData) throws(AdvertisingDataError)
    -> AdvertisingStructure
  {
    try encrypted(data, randomizer: Self.randomizer())
  }

  /// The same with a randomizer of 5 octets.
  package func encrypted(
    _ data: AdvertisingData, randomizer: [UInt8]
  ) throws(AdvertisingDataError) -> AdvertisingStructure {
    var data = data
    data.flags = nil
    let plain = try data.encoded(limit: Self.capacity)
    return AdvertisingStructure(.encryptedData, encrypted(plain, randomizer: randomizer))
  }

  /// The most octets that a structure can hold encrypted.
  package static let capacity = 254 - randomizerLength - AESCCM.tagLength

  /// The value of a structure that holds these octets, which need not be structures.
  package func encrypted(
    _ plain: [UInt8], randomizer: [UInt8] = Self.randomizer()
  ) -> [UInt8] {
    randomizer
      + cipher.encrypt(
        plain, nonce: randomizer + initializationVector, associatedData: Self.associatedData)
  }

  package static func randomizer() -> [UInt8] {
    (0..<randomizerLength).map { _ in .random(in: .min ... .max) }
  }

  /// The data of a structure that was encrypted with these keys; nil of any other structure.
  public func decrypted(_ structure: AdvertisingStructure) -> AdvertisingData? {
    guard structure.kind == .encryptedData else { return nil }
    return decrypted(structure.value).map { AdvertisingData(parsing: $0) }
  }

  /// The octets in the value of a structure; nil if the keys do not decrypt it.
  package func decrypted(_ value: [UInt8]) -> [UInt8]? {
    guard value.count >= Self.randomizerLength else { return nil }
    return cipher.decrypt(
      value.dropFirst(Self.randomizerLength),
      nonce: Array(value.prefix(Self.randomizerLength) + initializationVector),
      associatedData: Self.associatedData)
  }

  private var cipher: AESCCM { AESCCM(key: Array(octets.prefix(16))) }
  private var initializationVector: ArraySlice<UInt8> { octets.dropFirst(16) }
}

extension AdvertisingData {
  /// Adds the fields of each structure that one of the keys decrypts, as `merge(scanResponse:)`
  /// does. The structures stay among `others`.
  ///
  /// - Returns: whether there was one.
  @discardableResult
  public mutating func decrypt(with keys: [AdvertisingKeyMaterial]) -> Bool {
    let found = others.compactMap { structure in
      keys.lazy.compactMap { $0.decrypted(structure) }.first
    }
    for data in found { merge(scanResponse: data) }
    return !found.isEmpty
  }
}
