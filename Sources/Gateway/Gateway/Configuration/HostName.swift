import AttoFormats
import Glibc

/// The name of this machine.
enum HostName {
  /// As the name of a gateway; nil: the machine has no name of which it could be made.
  static var gatewayName: String? {
    var octets = [CChar](repeating: 0, count: 256)
    // The last octet stays zero.
    guard gethostname(&octets, octets.count - 1) == 0 else { return nil }
    return gatewayName(of: octets.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) })
  }

  /// The first label, with `-` for what the name of a gateway may not have.
  static func gatewayName(of host: [UInt8]) -> String? {
    let label = host.prefix { $0 != UInt8(ascii: ".") }.prefix(64)
    guard label.contains(where: { ProfileField.isNameOctet($0) && $0 != UInt8(ascii: "-") }) else {
      return nil
    }
    return String(
      decoding: label.map { ProfileField.isNameOctet($0) ? $0 : UInt8(ascii: "-") }, as: UTF8.self)
  }
}
