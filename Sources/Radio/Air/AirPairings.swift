import ATT
import EventLoop
import Links

/// What a radio of the air keeps of pairing: its agent, bonds, and failures. The loop's thread
/// only.
///
/// Nothing is encrypted on the air: what is played is who is asked what, which levels come of
/// it, and how it fails. Bonds live as long as the radio.
///
/// # Limits
/// ``limit`` bonds and as many failures; beyond that those of other peers are forgotten.
final class AirPairings {
  static let limit = 1024

  struct Bond {
    let key: UInt64
    let security: LinkSecurity
  }

  let loop: Loop
  var agent: (any PairingAgent)?
  private var bonds: [BluetoothAddress: Bond] = [:]
  private var failures: [BluetoothAddress: PairingFailure] = [:]

  init(on loop: Loop) { self.loop = loop }

  func bond(_ peer: BluetoothAddress) -> Bond? { bonds[peer] }

  func failure(_ peer: BluetoothAddress) -> PairingFailure? { failures[peer] }

  /// A link with the peer begins: what failed before is past.
  func connected(_ peer: BluetoothAddress) { failures[peer] = nil }

  func paired(_ peer: BluetoothAddress, _ bond: Bond) {
    if bonds.count >= Self.limit, bonds[peer] == nil, let old = bonds.keys.first {
      bonds[old] = nil
    }
    bonds[peer] = bond
    tell { await $0.paired(with: peer) }
  }

  /// Returns whether there was a bond.
  func forget(_ peer: BluetoothAddress) -> Bool { bonds.removeValue(forKey: peer) != nil }

  func failed(_ peer: BluetoothAddress, _ failure: PairingFailure) {
    if failures.count >= Self.limit, failures[peer] == nil { failures = [:] }
    failures[peer] = failure
    tell { await $0.failed(peer, failure) }
  }

  /// Tells the agent something, in order.
  func tell(_ body: @escaping @Sendable (any PairingAgent) async -> Void) {
    guard let agent else { return }
    Task(executorPreference: loop.tasks) { await body(agent) }
  }

  /// Asks the agent; without one the answer is nil. `answered` is called on the loop.
  ///
  /// - Returns: what cancels the question.
  func ask<Answer: Sendable>(
    _ question: @escaping @Sendable (any PairingAgent) async -> Answer,
    _ answered: @escaping (Answer) -> Void
  ) -> Task<Void, Never>? {
    guard let agent else { return nil }
    let bound = LoopBound(answered, loop)
    let loop = loop
    return Task(executorPreference: loop.tasks) {
      let answer = await question(agent)
      guard !Task.isCancelled else { return }
      loop.inline { bound.value(answer) }
    }
  }
}

/// How two ends pair, according to what they can show and enter. Vol 3, Part H, 2.3.5.1.
enum AirPairingMethod: UInt8 {
  case justWorks = 0
  /// Both show a number and compare.
  case compare = 1
  /// The one who began enters what the other shows.
  case initiatorEnters = 2
  /// The other enters what the one who began shows.
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

  /// What a key made like this is worth; both ends know Secure Connections.
  var level: SecurityLevel { self == .justWorks ? .medium : .fips }
}
