import Atto
import AttoGateway

/// Who a server says it is.
package struct ServerIdentity: Equatable, Sendable {
  /// The gateway's name.
  package var name: String
  package var friendlyName: String
  /// The address as 12 digits, as in the handshake and in mDNS. Home Assistant keeps it for ever.
  package var digits: String

  package init(name: String, friendlyName: String? = nil, _ identity: GatewayIdentity) {
    self.name = name
    self.friendlyName = friendlyName ?? name
    digits = identity.addressDigits
  }

  /// The address in capitals with colons.
  package var addressText: String {
    let digits = Array(digits.uppercased())
    return stride(from: 0, to: 12, by: 2).map { String(digits[$0...($0 + 1)]) }
      .joined(separator: ":")
  }

  /// What mDNS tells about the server, in the words of ESPHome's devices. Home Assistant needs `mac`.
  func service(port: UInt16, isEncrypted: Bool) -> AnnouncedService {
    AnnouncedService(
      name: name, port: port,
      texts: [
        ("friendly_name", friendlyName), ("version", ESPHomeClient.esphomeVersion),
        ("mac", digits), ("platform", "linux"), ("board", "linux"), ("network", "ethernet"),
        ("project_name", ESPHomeClient.project), ("project_version", Version.number),
      ] + (isEncrypted ? [("api_encryption", "Noise_NNpsk0_25519_ChaChaPoly_SHA256")] : []))
  }
}
