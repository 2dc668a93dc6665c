import ATT
import EventLoop
public import Links

/// Pairing on the air, by the same agents as with the kernel.
///
/// Without an agent a radio agrees on every level up to its own maximum, and nobody is asked.
/// With one it asks, and levels above `medium` want something shown and entered, or compared.
/// Links that stand keep what they have.
extension AirAdapter {
  public func setAgent(_ agent: (any PairingAgent)?) async throws(RadioError) {
    pairings.agent = agent
  }

  public var agentCapability: PairingCapability? { pairings.agent?.capability }

  /// Pairs over a link of its own, which ends then. Without an agent it is Just Works.
  ///
  /// - Throws: `pairing`, `timedOut`, and what connecting throws: `refused` if there is a link
  ///   already.
  public func pair(
    with peer: BluetoothAddress, timeout: Duration = .seconds(60)
  ) async throws(RadioError) {
    _ = try await pair(
      with: .address(BluetoothAddress(peer.value, kind: .random)), timeout: timeout)
  }

  /// Pairs with the radio of that name or address, as soon as it is on the air; gives its address.
  ///
  /// - Throws: as `pair(with:timeout:)` with an address; `ambiguous` and `invalidEndpoint` as
  ///   connecting to an `AirEndpoint` does.
  public func pair(
    with endpoint: AirEndpoint, timeout: Duration = .seconds(60)
  ) async throws(RadioError) -> BluetoothAddress {
    if pairings.agent == nil { pairings.agent = JustWorksAgent() }
    let connected = try await connect(to: endpoint, timeout: timeout)
    guard let link = connected.take() as? AirLink else { return connected.peer }
    let bound = LoopBound(link, loop)
    let loop = loop
    let failure: PairingFailure? = await withTaskCancellationHandler {
      await withCheckedContinuation { raise(bound.value, timeout, $0) }
    } onCancel: {
      loop.execute { bound.value.close() }
    }
    link.close()
    guard let failure else { return connected.peer }
    if Task.isCancelled { throw .cancelled }
    throw .pairing(connected.peer, failure)
  }

  private func raise(
    _ link: AirLink, _ timeout: Duration,
    _ continuation: CheckedContinuation<PairingFailure?, Never>
  ) {
    link.answerTime = min(timeout, AirLink.answerTime)
    link.onRaised = { continuation.resume(returning: $0) }
    do throws(LinkError) {
      try link.raiseSecurity(to: .medium)
    } catch {
      link.close()
      // One that had ended before tells nobody.
      let untold = link.onRaised
      link.onRaised = nil
      untold?(.linkLost)
    }
  }

  public func unpair(_ peer: BluetoothAddress) async throws(RadioError) {
    guard pairings.forget(BluetoothAddress(peer.value, kind: .random)) else {
      throw .notPaired(peer)
    }
  }

  public func pairingFailure(
    of peer: BluetoothAddress, within time: Duration
  ) async -> PairingFailure? {
    // Failures are noted before their links end.
    pairings.failure(BluetoothAddress(peer.value, kind: .random))
  }
}
