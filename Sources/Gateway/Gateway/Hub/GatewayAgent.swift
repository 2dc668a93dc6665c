import Atto
import AttoLinks

/// Answers when devices pair: with the passkeys of the configuration, or by asking a person over the
/// front ends.
struct GatewayAgent: PairingAgent {
  let hub: Hub
  let capability: PairingCapability

  init(_ hub: Hub) {
    self.hub = hub
    let configuration = hub.here { $0.configuration }
    let hasPasskey = configuration.devices.contains { $0.passkey != nil }
    capability =
      configuration.asksPasskeys ? .keyboardDisplay : hasPasskey ? .keyboard : .none
  }

  func passkey(shownBy peer: BluetoothAddress) async -> UInt32? {
    if let passkey = await hub.device(pairingAs: peer)?.configuration?.passkey { return passkey }
    guard case .passkey(let passkey) = await hub.ask(.enter, of: peer) else { return nil }
    return passkey
  }

  func matches(_ value: UInt32, shownBy peer: BluetoothAddress) async -> Bool {
    await hub.ask(.compare(value), of: peer) == .yes
  }

  func show(_ passkey: UInt32, to peer: BluetoothAddress, entered: Int) async {
    if entered == 0 { await hub.show(passkey, to: peer) }
  }

  func paired(with peer: BluetoothAddress) async {
    let device = await hub.label(of: peer)
    hub.log(.notice, "paired with \(device)")
    await hub.tell(.ended(device: device, peer, failure: nil))
  }

  func failed(_ peer: BluetoothAddress, _ failure: PairingFailure) async {
    let device = await hub.label(of: peer)
    hub.log(.warning, "pairing with \(device) failed: \(failure)")
    await hub.tell(.ended(device: device, peer, failure: "\(failure)"))
  }
}
