import AttoLinks
import AttoRadio

/// The radio of a connection. Its agent answers when the link pairs, and it knows why pairing failed.
final class PairingSource: Sendable {
  /// How long after the end of the link the radio may report the reason.
  static let patience: Duration = .seconds(1)

  private let radio: Adapter
  /// nil for a simulated radio that is addressed by its name.
  private let peer: BluetoothAddress?
  private let endpoint: Endpoint
  /// What the agent could do when the connection was opened; nil without an agent.
  let capability: PairingCapability?
  private let watch: PairingWatch?

  init?(_ radio: Adapter?, _ endpoint: Endpoint) async {
    guard let radio else { return nil }
    switch endpoint {
    case .le(let address): peer = address.peer
    case .air: peer = nil
    case .unix, .descriptor, .leAny: return nil
    }
    self.radio = radio
    self.endpoint = endpoint
    capability = await radio.agentCapability
    watch = if let peer { await radio.watchPairing(with: peer) } else { nil }
  }

  private init(
    _ radio: Adapter, _ endpoint: Endpoint, _ peer: BluetoothAddress,
    _ capability: PairingCapability?
  ) {
    self.radio = radio
    self.endpoint = endpoint
    self.peer = peer
    self.capability = capability
    // The virtual air ends the link when pairing fails.
    watch = nil
  }

  /// The same for the peer that a name has led to; nil: for the peer of the endpoint.
  func of(_ peer: BluetoothAddress?) -> PairingSource {
    guard let peer else { return self }
    return PairingSource(radio, endpoint, peer, capability)
  }

  /// Has this called with the error for each failure to pair, on the radio's loop.
  func observe(_ failed: @escaping @Sendable (AttoError) -> Void) {
    let endpoint = endpoint.description
    watch?.setHandler { failed(.pairing(peer: endpoint, $0)) }
  }

  /// The error itself, or the failure of pairing that caused it.
  func explained(_ error: AttoError) async -> AttoError {
    guard error.isEndOfLink, let peer,
      let failure = await radio.pairingFailure(of: peer, within: Self.patience)
    else { return error }
    return .pairing(peer: endpoint.description, failure)
  }
}

extension AttoError {
  /// Whether the end of a link may have caused it.
  var isEndOfLink: Bool {
    switch self {
    case .link, .disconnected, .bearer(.linkEnded): true
    default: false
    }
  }
}
