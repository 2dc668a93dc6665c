import AttoEventLoop
public import AttoLinks

extension Adapter {
  /// Has an agent answer from now on when peers pair; nil: as if no agent had been set.
  ///
  /// Without an agent a kernel adapter answers for its own peers only: it accepts where there is
  /// nothing to compare, if it is bondable, and refuses everything else. Other programs may answer
  /// for other peers. With an agent it takes the agent's capability, and bonding is switched on.
  ///
  /// A radio of the virtual air without an agent agrees to every level up to its maximum. With one,
  /// levels above `medium` need a passkey or a comparison.
  ///
  /// - Throws: `management`, and what commands to the kernel throw.
  public func setAgent(_ agent: (any PairingAgent)?) async throws(RadioError) {
    if let endReason { throw endReason }
    backend.agents.agent = agent
    try await backend.agentChanged()
  }

  /// What the agent can show and enter; nil without one.
  public var agentCapability: PairingCapability? { backend.agents.agent?.capability }

  /// Pairs with a peer, which is connected to if there is no link yet.
  ///
  /// On the virtual air the link is one of its own, which ends after pairing; without an agent
  /// there it is Just Works.
  ///
  /// - Returns: the address of the peer.
  /// - Throws: `pairing` with the reason, `timedOut`, `cancelled`, and what connecting throws; on a
  ///   kernel adapter `management` with `alreadyPaired`, `connectFailed` and others; on the virtual
  ///   air `refused` if there is a link already.
  @discardableResult public func pair(
    with peer: PeerTarget, timeout: Duration = .seconds(60)
  ) async throws(RadioError) -> BluetoothAddress {
    try await perform { backend.pair(with: peer, timeout: timeout, $0) }
  }

  /// Pairs with the peer that has this address.
  ///
  /// - Throws: what ``pair(with:timeout:)-(PeerTarget,_)`` throws.
  public func pair(
    with peer: BluetoothAddress, timeout: Duration = .seconds(60)
  ) async throws(RadioError) {
    _ = try await pair(with: .address(peer), timeout: timeout)
  }

  /// Removes the keys of a peer. The kernel also ends the link with it.
  ///
  /// - Throws: `notPaired` or `management` with `notPaired` if there are no keys.
  public func unpair(_ peer: BluetoothAddress) async throws(RadioError) {
    if let endReason { throw endReason }
    try await backend.unpair(peer)
  }

  /// Why pairing with a peer failed last, or encrypting with an earlier key. Use it after a link
  /// has ended.
  ///
  /// - Parameter time: how long to wait for a failure that has not been reported yet.
  /// - Returns: nil if pairing has not failed since the peer connected.
  public func pairingFailure(
    of peer: BluetoothAddress, within time: Duration
  ) async -> PairingFailure? {
    let isVirtual = backend.controller == nil
    // On the virtual air failures are stored before their links end.
    let time = isVirtual ? .zero : time
    let peer = isVirtual ? BluetoothAddress(peer.value, kind: .random) : peer
    do throws(RadioError) {
      return try await loop.withLocalWaiter { (waiter: Waiter<PairingFailure?, RadioError>) in
        guard endReason == nil else { return waiter.resume(.success(nil)) }
        backend.agents.failure(of: peer, within: time, waiter)
      }
    } catch {
      return nil
    }
  }

  /// Watches for failures to pair with a peer, from a new attempt to connect on.
  package func watchPairing(with peer: BluetoothAddress) -> PairingWatch {
    backend.agents.watch(peer)
  }
}
