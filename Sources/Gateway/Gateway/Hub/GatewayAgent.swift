import Atto
import AttoLinks

/// Answers when devices pair: with the passkeys of the configuration.
struct GatewayAgent: PairingAgent {
  let hub: Hub
  let capability: PairingCapability

  init(_ hub: Hub) {
    self.hub = hub
    let hasPasskey = hub.here { $0.configuration.devices.contains { $0.passkey != nil } }
    capability = hasPasskey ? .keyboard : .none
  }

  func passkey(shownBy peer: BluetoothAddress) async -> UInt32? {
    await hub.passkey(of: peer)
  }

  func paired(with peer: BluetoothAddress) async {
    hub.log(.notice, "paired with \(peer.digits)")
  }

  func failed(_ peer: BluetoothAddress, _ failure: PairingFailure) async {
    hub.log(.warning, "pairing with \(peer.digits) failed: \(failure)")
  }
}

extension Hub {
  fileprivate func passkey(of peer: BluetoothAddress) -> UInt32? {
    for device in named.values {
      let passkey = device.here { device in
        device.address?.value == peer.value ? device.configuration?.passkey : nil
      }
      if let passkey { return passkey }
    }
    log(.warning, "\(peer.digits) wants a passkey, and the configuration has none for it")
    return nil
  }
}
