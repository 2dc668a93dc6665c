internal import Atto

/// The links on which peers did not answer, until the kernel has ended them.
///
/// # Theory
/// The kernel keeps a link for two seconds after its last socket was closed, and a new socket gets
/// it again. After a link on which a response did not come in time, that would be no help: such a
/// bearer is of no use any more (Vol 3, Part F, 3.3.3). So the next attempt waits for the link's end.
///
/// The kernel tells of that, on a busy machine late. It names the peer's identity, so the end of a link with a private
/// address may not be heard of. And a link that another program holds does not end. So there are limits.
@RadioLoop final class SilentLinks {
  private var closings: [BluetoothAddress: ContinuousClock.Instant] = [:]
  /// How long a link is waited for, from its last use on.
  nonisolated private static let limit: Duration = .seconds(15)
  /// Between two looks at what the kernel has told.
  nonisolated private static let pause: Duration = .milliseconds(100)

  /// A connection is closed, for this reason.
  func closed(with peer: BluetoothAddress, _ reason: AttoError?) {
    guard reason?.kind == .timeout else { return }
    let now = ContinuousClock.now
    closings = closings.filter { $0.value + Self.limit > now }
    closings[peer] = now
  }

  /// Returns when such a link with a peer has ended, if there was one; or if the task is cancelled.
  func end(with peer: BluetoothAddress, on adapter: Adapter) async {
    guard let closing = closings[peer] else { return }
    let deadline = closing + (peer.isStable ? Self.limit : L2CAPAddress.linkKeptTime)
    while !Task.isCancelled, .now < deadline, await adapter.hasLink(with: peer) {
      try? await Task.sleep(for: Self.pause)
    }
    if !Task.isCancelled { closings[peer] = nil }
  }
}
