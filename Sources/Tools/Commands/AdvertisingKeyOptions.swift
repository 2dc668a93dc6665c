import Atto
import AttoCommandLine
import AttoPeers

/// The option with the keys of encrypted advertising data: for scans several, for an advertisement
/// those that encrypt it.
enum AdvertisingKeyOptions {
  static let several = Option.list(
    name, argument,
    "Decrypt advertisements with these keys, the value of 2B88 (repeatable). --service and --name see only what is"
      + " not encrypted." + warning, expected: expected
  ) { keys($0) }
  static let single = Option.value(
    name, argument, "Encrypt the advertisement with these keys, the value of 2B88." + warning,
    expected: expected
  ) { keys($0) }

  private static let name = "key-material"
  private static let argument = "HEX"
  private static let warning = " Other users see them in the list of processes."
  private static let expected =
    "24 octets in hex: a session key of 16 and an initialization vector of 8"

  private static func keys(_ text: String) -> AdvertisingKeyMaterial? {
    (try? octets(argument: text)).flatMap { AdvertisingKeyMaterial($0) }
  }

  /// Decrypts what the keys can. Returns what became of it; nil if nothing is encrypted.
  static func decrypt(_ data: inout AdvertisingData, _ keys: [AdvertisingKeyMaterial]) -> String? {
    guard data.others.contains(where: { $0.kind == .encryptedData }) else { return nil }
    return data.decrypt(with: keys) ? "decrypted" : "encrypted"
  }
}
