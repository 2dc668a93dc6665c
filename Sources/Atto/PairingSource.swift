import Links
import Radio

/// The radio of a connection: whose agent answers when the link pairs, and who knows why that
/// has failed.
final class PairingSource: Sendable {
  /// How long the radio's own account may come after the end of the link.
  static let patience: Duration = .seconds(1)

  private let radio: any Adapter
  /// nil for one of the air whom a name will lead to.
  private let peer: BluetoothAddress?
  private let endpoint: Endpoint
  /// What the agent could do when the connection was made; nil without one.
  let capability: PairingCapability?

  init?(_ radio: (any Adapter)?, _ endpoint: Endpoint) async {
    guard let radio else { return nil }
    switch endpoint {
    case .le(let address): peer = address.peer
    case .air: peer = nil
    case .unix, .descriptor, .leAny: return nil
    }
    self.radio = radio
    self.endpoint = endpoint
    capability = await radio.agentCapability
  }

  private init(
    _ radio: any Adapter, _ endpoint: Endpoint, _ peer: BluetoothAddress,
    _ capability: PairingCapability?
  ) {
    self.radio = radio
    self.endpoint = endpoint
    self.peer = peer
    self.capability = capability
  }

  /// The same for the peer that a link leads to.
  func of(_ link: any Link) -> PairingSource {
    guard let link = link as? AirLink else { return self }
    return PairingSource(radio, endpoint, link.peer, capability)
  }

  /// The error itself, or that pairing has failed.
  func explained(_ error: AttoError) async -> AttoError {
    guard error.isEndOfLink, let peer,
      let failure = await radio.pairingFailure(of: peer, within: Self.patience)
    else { return error }
    return .pairing(peer: endpoint.description, failure)
  }
}

extension AttoError {
  /// Whether it may have come about by the end of a link.
  var isEndOfLink: Bool {
    switch self {
    case .link, .disconnected, .bearer(.linkEnded): true
    default: false
    }
  }
}
