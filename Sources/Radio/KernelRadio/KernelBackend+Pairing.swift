import AttoEventLoop
import AttoLinks
import AttoRadio

// The kernel pairs, and an agent answers its questions. The kernel asks every program with a
// management socket, and the first answer counts. So without an agent this adapter answers only for
// peers of its own: those to which it connects, those with which it has links, and all while it
// advertises connectably.
extension KernelBackend {
  nonisolated(nonsending) func agentChanged() async throws(RadioError) {
    guard let agent = agents.agent else { return }
    try await command(.setCapability, [agent.capability.rawValue])
    if !information.settings.contains(.bondable) { try await set(.setBondable, true) }
    // Without Secure Connections keys are weak and never `fips`. Kernels and adapters that refuse
    // it can pair all the same.
    if information.supported.contains(.secureConnections),
      !information.settings.contains(.secureConnections)
    {
      try? await set(.setSecureConnections, true)
    }
  }

  func pair(
    with peer: PeerTarget, timeout: Duration,
    _ completion: @escaping RadioCompletion<BluetoothAddress>
  ) -> EndOperation {
    guard case .address(let peer) = peer, let channel else {
      completion(.failure(channel == nil ? .closed : .unsupported("pairing by name")))
      return { _ in }
    }
    let capability = agents.agent?.capability ?? .none
    peers.insert(peer)
    pairings.commandBegins(peer)
    channel.send(
      .pairDevice, information.index, peer.managementOctets + [capability.rawValue],
      patience: timeout
    ) { [weak self] reply in
      guard let self else { return completion(.failure(.closed)) }
      completion(pairingResult(reply, peer, timeout))
    }
    return { [weak self] error in
      self?.send(.cancelPairing, peer.managementOctets)
      completion(.failure(error))
    }
  }

  private func pairingResult(
    _ reply: ManagementChannel.Reply, _ peer: BluetoothAddress, _ timeout: Duration
  ) -> Result<BluetoothAddress, RadioError> {
    switch reply {
    case .failure(.management(let opcode, let status, let adapter)):
      guard let failure = pairings.commandEnds(peer, status) else {
        return .failure(.management(opcode, status, adapter: adapter))
      }
      return .failure(.pairing(peer, failure))
    case .success:
      _ = pairings.commandEnds(peer, nil)
      return .success(peer)
    case .failure(let error):
      _ = pairings.commandEnds(peer, nil)
      guard case .managementSilent = error else { return .failure(error) }
      send(.cancelPairing, peer.managementOctets)
      return .failure(.timedOut(peer, after: timeout))
    }
  }

  nonisolated(nonsending) func unpair(_ peer: BluetoothAddress) async throws(RadioError) {
    try await command(.unpairDevice, peer.managementOctets + [1])
  }

  // MARK: The kernel's questions

  private func isOurs(_ peer: BluetoothAddress) -> Bool {
    agents.agent != nil || peers.contains(peer) || attemptCount > 0 || listener != nil
  }

  /// - Parameter value: what both ends show; nil if there is nothing to compare.
  func confirm(_ peer: BluetoothAddress, value: UInt32?) {
    guard isOurs(peer) else { return pairings.noted(peer) }
    // Until this end has answered, a failure is a refusal of the peer.
    pairings.noted(peer, value == nil ? .accepted : .compared)
    let answer = { [weak self] (isAccepted: Bool) -> Void in
      if !isAccepted { self?.pairings.noted(peer, .refused) }
      // The answer may come too late, which does no harm.
      self?.send(isAccepted ? .confirm : .refuseConfirmation, peer.managementOctets)
    }
    let question =
      if let value {
        agents.ask({ await $0.matches(value, shownBy: peer) }, answer)
      } else {
        agents.ask({ await $0.accepts(peer) }, answer)
      }
    guard let question else {
      return answer(value == nil && information.settings.contains(.bondable))
    }
    pairings.noted(peer, question: question)
  }

  func enterPasskey(for peer: BluetoothAddress) {
    guard isOurs(peer) else { return pairings.noted(peer) }
    let answer = { [weak self] (passkey: UInt32?) -> Void in
      if let passkey, passkey <= 999_999 {
        self?.pairings.noted(peer, .entered)
        self?.send(.enterPasskey, peer.managementOctets + passkey.octets(4))
      } else {
        self?.pairings.noted(peer, .refused)
        self?.send(.refusePasskey, peer.managementOctets)
      }
    }
    guard let question = agents.ask({ await $0.passkey(shownBy: peer) }, answer) else {
      return answer(nil)
    }
    pairings.noted(peer, question: question)
  }

  func show(_ passkey: UInt32, to peer: BluetoothAddress, entered: Int) {
    pairings.noted(peer, .shown)
    agents.tell { await $0.show(passkey, to: peer, entered: entered) }
  }
}
