import AttoATT
import AttoGATT

/// Two devices on one link, with one unenhanced bearer and perhaps enhanced ones.
final class Connection {
  let number: Int
  let central: Device
  let peripheral: Device
  let isBonded: Bool
  /// Whether both sides keep the protocol and the link loses or duplicates nothing.
  let isTrusted: Bool
  let drops: Bool
  let damage: Bool
  /// Whether no PDU is lost or duplicated.
  var keepsOrder: Bool { !drops && !damage }
  /// The side of the central, then that of the peripheral.
  var sides: [Side] = []
  var security = LinkSecurity.low
  /// The state of each side in the other's server; nil without a server and after disconnection.
  var centralClient: (engine: ServerClient, model: ModelClient)?
  var peripheralClient: (engine: ServerClient, model: ModelClient)?

  init(
    number: Int, central: Device, peripheral: Device, isBonded: Bool, isTrusted: Bool,
    drops: Bool, damage: Bool
  ) {
    self.number = number
    self.central = central
    self.peripheral = peripheral
    self.isBonded = isBonded
    self.isTrusted = isTrusted
    self.drops = drops
    self.damage = damage
  }

  func side(of device: Device) -> Side { sides[device === central ? 0 : 1] }

  func ends(of device: Device) -> [LinkEnd] { side(of: device).ends }

  func other(than device: Device) -> Device { device === central ? peripheral : central }

  /// The state of the other side in this device's server.
  func client(of device: Device) -> (engine: ServerClient, model: ModelClient)? {
    device === central ? peripheralClient : centralClient
  }

  var isOver: Bool { sides.allSatisfy { $0.main.isClosed } }

  /// After the last bearer of a side has ended, its server drops the client, and stores its state
  /// if it is bonded.
  func closed(_ side: Side) {
    let device = side.device
    guard let (engine, model) = client(of: device) else { return }
    let peer = other(than: device)
    if device === central { peripheralClient = nil } else { centralClient = nil }
    device.forget(engine, model, peer: peer, isBonded: isBonded)
  }

  /// Loses the link with all PDUs on their way.
  func lose() { for side in sides { side.main.end() } }
}
