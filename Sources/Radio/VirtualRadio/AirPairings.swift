import AttoATT
import AttoEventLoop
import AttoLinks
import AttoRadio

/// The bonds of a radio. The loop's thread only.
///
/// Nothing is encrypted on the virtual air. What is simulated is what agents are asked, which
/// levels result, and how pairing fails. Bonds live as long as the radio.
///
/// # Limits
/// ``limit`` bonds. Beyond that those of other peers are forgotten.
final class AirPairings {
  static let limit = 1024

  struct Bond {
    let key: UInt64
    let security: LinkSecurity
  }

  let agents: AgentCalls
  private var bonds: [BluetoothAddress: Bond] = [:]

  init(on loop: Loop) { agents = AgentCalls(on: loop) }

  func bond(_ peer: BluetoothAddress) -> Bond? { bonds[peer] }

  func paired(_ peer: BluetoothAddress, _ bond: Bond) {
    if bonds.count >= Self.limit, bonds[peer] == nil, let old = bonds.keys.first {
      bonds[old] = nil
    }
    bonds[peer] = bond
    agents.tell { await $0.paired(with: peer) }
  }

  /// Returns whether there was a bond.
  func forget(_ peer: BluetoothAddress) -> Bool { bonds.removeValue(forKey: peer) != nil }
}

/// How two ends pair, depending on what they can show and enter. Vol 3, Part H, 2.3.5.1.
enum AirPairingMethod: UInt8 {
  case justWorks = 0
  /// Both show a number and compare.
  case compare = 1
  /// The initiator enters what the responder shows.
  case initiatorEnters = 2
  /// The responder enters what the initiator shows.
  case responderEnters = 3
  /// Both enter the same.
  case bothEnter = 4

  init(initiator: PairingCapability, responder: PairingCapability) {
    switch (initiator, responder) {
    case (.none, _), (_, .none): self = .justWorks
    case (.keyboard, .keyboard): self = .bothEnter
    case (.keyboard, _), (.keyboardDisplay, .display): self = .initiatorEnters
    case (_, .keyboard), (.display, .keyboardDisplay): self = .responderEnters
    case (.display, _), (_, .display): self = .justWorks
    default: self = .compare
    }
  }

  /// The level of a key; both ends support Secure Connections.
  var level: SecurityLevel { self == .justWorks ? .medium : .fips }
}
