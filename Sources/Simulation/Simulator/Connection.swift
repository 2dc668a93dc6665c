import ATT
import GATT
import Links

/// Two devices on one link, with one bearer or two.
final class Connection {
  let number: Int
  let central: Device
  let peripheral: Device
  let isBonded: Bool
  /// Both sides keep to the protocol and the link does as links do.
  let isTrusted: Bool
  /// Nothing vanishes and nothing comes twice.
  let keepsOrder: Bool
  var bearers: [(LinkEnd, LinkEnd)] = []
  var security = LinkSecurity.low
  /// What each side's server knows of the other; nil without a server or once it is gone.
  var centralClient: (engine: ServerClient, model: ModelClient)?
  var peripheralClient: (engine: ServerClient, model: ModelClient)?

  init(
    number: Int, central: Device, peripheral: Device, isBonded: Bool, isTrusted: Bool,
    keepsOrder: Bool
  ) {
    self.number = number
    self.central = central
    self.peripheral = peripheral
    self.isBonded = isBonded
    self.isTrusted = isTrusted
    self.keepsOrder = keepsOrder
  }

  func ends(of index: Int) -> (LinkEnd, LinkEnd) { bearers[index] }

  func ends(of device: Device) -> [LinkEnd] {
    bearers.map { device === central ? $0.0 : $0.1 }
  }

  func other(than device: Device) -> Device { device === central ? peripheral : central }

  /// What this device's server knows of the other side.
  func client(of device: Device) -> (engine: ServerClient, model: ModelClient)? {
    device === central ? peripheralClient : centralClient
  }

  var isOver: Bool { bearers.allSatisfy { $0.0.isClosed && $0.1.isClosed } }

  /// When the last bearer of a side has ended, its server forgets the client, or keeps what a
  /// bond is for.
  func endClosed(_ end: LinkEnd) {
    let device = end.device
    guard ends(of: device).allSatisfy(\.isClosed) else { return }
    guard let (engine, model) = client(of: device) else { return }
    let peer = other(than: device)
    if device === central { peripheralClient = nil } else { centralClient = nil }
    device.forget(engine, model, peer: peer, isBonded: isBonded)
  }

  /// The link is lost: nothing that was on its way arrives.
  func lose() {
    for (a, b) in bearers {
      a.end()
      b.end()
    }
  }
}
