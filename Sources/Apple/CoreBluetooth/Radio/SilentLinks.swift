internal import Atto

/// The links on which peers did not answer, until the kernel has ended them.
///
/// # Theory
/// The kernel keeps a link for two seconds after its last socket was closed, and a new socket gets
/// it again. After a link on which a response did not come in time, that would be no help: such a
/// bearer is of no use any more (Vol 3, Part F, 3.3.3). So the next attempt waits for the link's end.
@RadioLoop final class SilentLinks {
  private var ends: [BluetoothAddress: ContinuousClock.Instant] = [:]

  /// A connection is closed, for this reason.
  func closed(with peer: BluetoothAddress, _ reason: AttoError?) {
    guard reason?.kind == .timeout else { return }
    let now = ContinuousClock.now
    ends = ends.filter { $0.value > now }
    ends[peer] = now + L2CAPAddress.linkKeptTime
  }

  /// When such a link with a peer has ended; nil if there is none.
  func end(with peer: BluetoothAddress) -> ContinuousClock.Instant? {
    ends[peer].flatMap { $0 > .now ? $0 : nil }
  }
}
