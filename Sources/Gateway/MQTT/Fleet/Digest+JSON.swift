import AttoGateway
import AttoText

/// The digest of a gateway in the topic `PREFIX/FLEET/fleet/GATEWAY`, retained:
/// `{"gateway":"hall","free":60,"holds":["strap"],"claims":[],"heard":{"scale":-61}}`.
extension Fleet.Digest {
  /// Octets of a digest.
  static let octetLimit = 131_072

  var payload: [UInt8] {
    JSON.object([
      ("gateway", .string(gateway)), ("free", .integer(free)),
      ("holds", .array(holds.sorted().map { .string($0) })),
      ("claims", .array(claims.sorted().map { .string($0) })),
      (
        "heard",
        .object(heard.sorted { $0.key < $1.key }.map { (name: $0.key, value: .integer($0.value)) })
      ),
    ]).octets
  }

  /// Nil if the octets are not a digest.
  init?(_ payload: [UInt8]) {
    guard payload.count <= Self.octetLimit, let node = try? JSONParser.parse(payload),
      case .object(let members) = node.content
    else { return nil }
    self.init(gateway: "")
    for member in members {
      switch (member.name, member.value.content) {
      case ("gateway", .string(let name)): gateway = name
      case ("free", .number(let text)): free = Int(text) ?? 0
      case ("holds", .array(let nodes)): holds = Self.names(nodes)
      case ("claims", .array(let nodes)): claims = Self.names(nodes)
      case ("heard", .object(let found)):
        for device in found {
          guard case .number(let text) = device.value.content, let strength = Int(text),
            -127...20 ~= strength
          else { continue }
          heard[device.name] = strength
        }
      default: break
      }
    }
    if gateway.isEmpty { return nil }
  }

  private static func names(_ nodes: [JSON]) -> Set<String> {
    Set(
      nodes.compactMap { node in
        if case .string(let name) = node.content { name } else { nil }
      })
  }
}
