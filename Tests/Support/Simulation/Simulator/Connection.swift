import AttoATT
import AttoGATT

/// Two devices on one link, with one bearer or two.
final class Connection {
  let number: Int
  let central: Device
  let peripheral: Device
  let isBonded: Bool
  /// Whether both sides keep the protocol and the link loses or duplicates nothing.
  let isTrusted: Bool
  /// Whether no PDU is lost or duplicated.
  let keepsOrder: Bool
  var bearers: [(LinkEnd, LinkEnd)] = []
  var security = LinkSecurity.low
  /// The state of each side in the other's server; nil without a server and after disconnection.
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

  /// The state of the other side in this device's server.
  func client(of device: Device) -> (engine: ServerClient, model: ModelClient)? {
    device === central ? peripheralClient : centralClient
  }

  var isOver: Bool { bearers.allSatisfy { $0.0.isClosed && $0.1.isClosed } }

  /// After the last bearer of a side has ended, its server drops the client, and stores its state
  /// if it is bonded.
  func endClosed(_ end: LinkEnd) {
    let device = end.device
    guard ends(of: device).allSatisfy(\.isClosed) else { return }
    guard let (engine, model) = client(of: device) else { return }
    let peer = other(than: device)
    if device === central { peripheralClient = nil } else { centralClient = nil }
    device.forget(engine, model, peer: peer, isBonded: isBonded)
  }

  /// Loses the link with all PDUs on their way.
  func lose() {
    for (a, b) in bearers {
      a.end()
      b.end()
    }
  }
}
