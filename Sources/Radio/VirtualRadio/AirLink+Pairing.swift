import AttoATT
import Glibc
import AttoLinks
import AttoRadio

// Pairing on a link of the virtual air.
//
// # Theory
// Radios without an agent agree to any level (see `AirLink`). An initiator with an agent asks with
// `pair`, and names its bond with the peer if the level of that is high enough. The responder chooses
// the method, and both ends ask their agents. The initiator reports that it has done its part
// (`confirm`), with the passkey in clear text. The responder compares, and reports the new security
// of the link (`raised`).
//
//     initiator                          responder
//     pair(capability, level, bond) -->  bond known, level high enough: raised
//                                        bond unknown: failed(keyMissing)
//                                        no agent: raised, if the initiator's agent accepts
//                                   <--  method
//     answer of the agent                answer of the agent
//     confirm(passkey, new bond)    -->
//                                   <--  raised
//     failed at any time, by either end; then the link ends with an authentication failure
//
// If both ends ask at once, the question of the central counts. The peripheral asks again afterwards
// if it needs a higher level.
extension AirLink {
  struct Response {
    let asked: LinkSecurity
    /// The maximum of the initiator.
    let highest: SecurityLevel
    let method: AirPairingMethod
    /// The number that is shown or was entered at this end; nil until then.
    var own: UInt32?
    var hasAccepted = false
    var confirmed: (value: UInt32, key: UInt64)?
  }

  /// Asks the peer to pair. False if the peer has closed the link.
  func askToPair(_ level: SecurityLevel) -> Bool {
    guard let agent = pairings.agents.agent else { return false }
    let bond = pairings.bond(peer)
    let key = bond.map { $0.security.level >= level ? $0.key : 0 } ?? 0
    newKey = 0
    hasNamedBond = key != 0
    step = .nothing
    let asked = LinkSecurity(level: level, keySize: maximum.keySize)
    return control.send(
      .pair(agent.capability, asked, highest: maximum.level, key: key))
  }

  func respond(
    _ capability: PairingCapability, _ asked: LinkSecurity, _ highest: SecurityLevel,
    _ key: UInt64
  ) {
    guard yieldsOwnQuestion() else { return }
    if key != 0 {
      guard let bond = pairings.bond(peer), bond.key == key, bond.security.level >= asked.level
      else {
        // Only the peer has lost a key, so only its agent is told.
        isPairing = false
        _ = control.send(.failed(.keyMissing))
        return lose(.keyMissing, EACCES)
      }
      return grant(min(bond.security.level, highest), asked)
    }
    guard let agent = pairings.agents.agent else { return grant(asked.level, asked) }
    begin(AirPairingMethod(initiator: capability, responder: agent.capability), asked, highest)
  }

  /// A peer without an agent asks for a level.
  func respond(_ asked: LinkSecurity) {
    guard pairings.agents.agent != nil else { return grant(asked.level, asked) }
    guard yieldsOwnQuestion() else { return }
    begin(.justWorks, asked, .medium, isSilent: true)
  }

  /// If both ends have asked at once: false at the central, whose question counts. The peripheral asks
  /// again later if it needs a higher level.
  private func yieldsOwnQuestion() -> Bool {
    guard let raising else { return true }
    guard !isCentral else { return false }
    wanted = max(wanted ?? .low, raising)
    stopRaising()
    return true
  }

  private func begin(
    _ method: AirPairingMethod, _ asked: LinkSecurity, _ highest: SecurityLevel,
    isSilent: Bool = false
  ) {
    step = .nothing
    guard asked.level <= min(method.level, maximum.level) else {
      return refuse(.disagreement(.nothing))
    }
    var response = Response(asked: asked, highest: highest, method: method)
    if isSilent { response.confirmed = (0, 0) }
    let number = UInt32.random(in: 0...999_999)
    switch method {
    case .compare, .initiatorEnters: response.own = number
    case .justWorks, .responderEnters, .bothEnter: break
    }
    self.response = response
    if !isSilent, !control.send(.method(method, method == .compare ? number : 0)) {
      return lose(.unspecified, EPIPE)
    }
    let peer = peer
    switch method {
    case .justWorks: ask(yes: .accepted, { await $0.accepts(peer) }) { $0.hasAnswered() }
    case .compare:
      ask(yes: .compared, { await $0.matches(number, shownBy: peer) }) { $0.hasAnswered() }
    case .initiatorEnters:
      show(number)
      hasAnswered()
    case .responderEnters, .bothEnter: enter { $0.hasAnswered(entered: $1) }
    }
  }

  private func hasAnswered(entered value: UInt32? = nil) {
    response?.hasAccepted = true
    if let value { response?.own = value }
    compare()
  }

  /// If both ends have done their parts: grants the level of the method, or fails.
  private func compare() {
    guard let response, response.hasAccepted, let confirmed = response.confirmed else { return }
    self.response = nil
    if [.initiatorEnters, .responderEnters, .bothEnter].contains(response.method),
      confirmed.value != response.own
    {
      return refuse(.disagreement(step))
    }
    let level = min(response.method.level, response.highest, maximum.level)
    if confirmed.key != 0 {
      let keySize = min(response.asked.keySize, maximum.keySize)
      pairings.paired(
        peer, .init(key: confirmed.key, security: LinkSecurity(level: level, keySize: keySize)))
    }
    grant(level, response.asked)
  }

  // MARK: The initiator

  /// The peer has chosen the method.
  func receive(_ method: AirPairingMethod, _ value: UInt32) {
    guard raising != nil, pairings.agents.agent != nil, newKey == 0, !hasNamedBond else {
      return lose(.unspecified, EPROTO)
    }
    newKey = UInt64.random(in: 1 ... .max)
    let peer = peer
    switch method {
    case .justWorks: ask(yes: .accepted, { await $0.accepts(peer) }) { $0.confirm(0) }
    case .compare:
      ask(yes: .compared, { await $0.matches(value, shownBy: peer) }) { $0.confirm(0) }
    case .initiatorEnters, .bothEnter: enter { $0.confirm($1) }
    case .responderEnters:
      let number = UInt32.random(in: 0...999_999)
      show(number)
      confirm(number)
    }
  }

  private func confirm(_ value: UInt32) {
    if !control.send(.confirm(value, key: newKey)) { lose(.unspecified, EPIPE) }
  }

  /// The initiator has done its part.
  func confirmed(_ value: UInt32, _ key: UInt64) {
    guard response != nil, response?.confirmed == nil else {
      return lose(.unspecified, EPROTO)
    }
    response?.confirmed = (value, key)
    compare()
  }

  // MARK: Agents

  func ask(
    yes: PairingStep, _ body: @escaping @Sendable (any PairingAgent) async -> Bool,
    _ accepted: @escaping (AirLink) -> Void
  ) {
    // Until this end has answered, a failure is a refusal of the peer.
    step = yes
    question = pairings.agents.ask(body) { [weak self] answer in
      guard let self, !hasEnded else { return }
      if !answer { step = .refused }
      if answer { accepted(self) } else { refuse(.disagreement(.refused)) }
    }
  }

  private func enter(_ entered: @escaping (AirLink, UInt32) -> Void) {
    let peer = peer
    question = pairings.agents.ask({ await $0.passkey(shownBy: peer) }) { [weak self] answer in
      guard let self, !hasEnded else { return }
      guard let answer, answer <= 999_999 else {
        step = .refused
        return refuse(.disagreement(.refused))
      }
      step = .entered
      entered(self, answer)
    }
  }

  private func show(_ number: UInt32) {
    step = .shown
    let peer = peer
    pairings.agents.tell { await $0.show(number, to: peer, entered: 0) }
  }

  // MARK: Ends

  private func refuse(_ failure: PairingFailure) {
    _ = control.send(.failed(.authenticationFailure))
    lose(failure)
  }

  func peerFailed(_ reason: DisconnectReason) {
    lose(reason == .keyMissing ? .keyMissing : .disagreement(step))
  }

  private func lose(_ failure: PairingFailure) {
    guard !hasEnded else { return }
    failed(failure)
    lose(failure == .keyMissing ? .keyMissing : .authenticationFailure, EACCES)
  }

  /// Stores the reason for `pairingFailure`.
  func failed(_ failure: PairingFailure) {
    isPairing = false
    pairings.agents.failed(peer, failure)
  }
}
