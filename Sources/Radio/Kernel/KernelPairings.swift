import EventLoop
import Links

/// What is known of pairing with the peers of an adapter: the steps that this end has taken, and
/// how it ended. The loop's thread only.
///
/// # Theory
/// The kernel tells in events of its own that pairing has failed, and in others that links have
/// ended; sockets know only that a link is gone, and may know it earlier. So a failure is kept
/// until the peer connects again, for whoever asks why; and one that is expected is waited for.
///
///     new --asked--> asked --key--> paired
///      |              |--failed--> failed
///      |              '--link ends--> failed: linkLost
///      '--link ends for authentication, nobody was asked--> failed: keyMissing
///
/// # Limits
/// ``limit`` peers; the kernel has fewer links. Beyond that old failures are forgotten.
final class KernelPairings {
  static let limit = 256
  /// A link that ends so long after the last step has ended because of that: the kernel waits
  /// 30 s for each (Vol 3, Part H, 3.4).
  static let patience: Duration = .seconds(28)

  private struct Pairing {
    var step = PairingStep.nothing
    var isUnderWay = false
    /// When something was last asked or answered here.
    var lastStep = ContinuousClock.now
    var isPaired = false
    var failure: PairingFailure?
    var question: Task<Void, Never>?
  }

  private struct Waiter {
    let peer: BluetoothAddress
    let timer: OneTimer
    let continuation: CheckedContinuation<PairingFailure?, Never>
  }

  private var pairings: [BluetoothAddress: Pairing] = [:]
  /// Peers with which the kernel has been told to pair, and has not answered yet. To the one who
  /// told it the kernel says in its answer alone that pairing has failed.
  private var commanded: Set<BluetoothAddress> = []
  private var waiters: [UInt64: Waiter] = [:]
  private var lastWaiter: UInt64 = 0
  private let loop: Loop

  init(on loop: Loop) { self.loop = loop }

  /// Peers of which something is known.
  var count: Int { pairings.count }

  /// A peer has connected: what was before is forgotten.
  func connected(_ peer: BluetoothAddress) { pairings[peer] = nil }

  /// The kernel is told to pair with a peer.
  func commandBegins(_ peer: BluetoothAddress) {
    pairings[peer] = nil
    commanded.insert(peer)
  }

  /// The kernel has answered, or will not; nil: it has paired, or not begun to.
  func commandEnds(_ peer: BluetoothAddress, _ status: ManagementStatus?) -> PairingFailure? {
    commanded.remove(peer)
    switch status {
    case .authenticationFailed?: return failed(peer, .authenticationFailed)
    case .failed?, .disconnected?, .timeout?, .notConnected?:
      guard let pairing = pairings[peer], pairing.isUnderWay else { return nil }
      let isLate = pairing.lastStep.duration(to: .now) >= Self.patience
      let failure: PairingFailure = isLate ? .timeout : .linkLost
      fail(peer, failure)
      return failure
    default: return nil
    }
  }

  /// Pairing has begun, or gone on.
  func noted(_ peer: BluetoothAddress, _ step: PairingStep = .nothing) {
    change(peer) {
      $0.isUnderWay = true
      $0.lastStep = .now
      if step != .nothing { $0.step = step }
    }
  }

  /// Somebody is asked; when pairing ends before the answer, the question is cancelled.
  func asking(_ peer: BluetoothAddress, _ question: Task<Void, Never>) {
    change(peer) {
      $0.isUnderWay = true
      $0.lastStep = .now
      $0.question = question
    }
  }

  /// Returns whether this is news.
  func paired(_ peer: BluetoothAddress) -> Bool {
    var isNews = false
    change(peer) {
      isNews = !$0.isPaired
      $0.isPaired = true
      $0.isUnderWay = false
      $0.question = nil
    }
    return isNews
  }

  /// The kernel says that pairing has failed. Returns why.
  func failed(_ peer: BluetoothAddress, _ status: ManagementStatus) -> PairingFailure {
    let failure: PairingFailure =
      switch status {
      case .timeout: .timeout
      case .disconnected, .connectFailed, .notConnected: .linkLost
      default: .disagreement(pairings[peer]?.step ?? .nothing)
      }
    fail(peer, failure)
    return failure
  }

  /// A link has ended. Returns why pairing has failed with it, if it has and that is news.
  func disconnected(_ peer: BluetoothAddress, isAuthenticationFailure: Bool) -> PairingFailure? {
    let pairing = pairings[peer] ?? Pairing()
    // The answer to the command tells how it ended, and may come later.
    guard pairing.failure == nil, !commanded.contains(peer) else { return nil }
    let failure: PairingFailure
    if pairing.isUnderWay {
      let isLate = pairing.lastStep.duration(to: .now) >= Self.patience
      failure = isAuthenticationFailure || isLate ? .timeout : .linkLost
    } else if isAuthenticationFailure {
      failure = .keyMissing
    } else {
      pairings[peer] = nil
      return nil
    }
    fail(peer, failure)
    return failure
  }

  /// Why pairing with a peer failed last, if it has since it connected; waits for this time if
  /// it has not.
  func failure(
    of peer: BluetoothAddress, within time: Duration, isolation: isolated any Actor
  ) async -> PairingFailure? {
    if let failure = pairings[peer]?.failure { return failure }
    lastWaiter += 1
    let id = lastWaiter
    return await withCheckedContinuation(isolation: isolation) { continuation in
      let timer = OneTimer(after: time, on: loop) { [weak self] in self?.wake(id, nil) }
      waiters[id] = Waiter(peer: peer, timer: timer, continuation: continuation)
    }
  }

  /// The adapter is closed: nobody waits any more.
  func close() {
    for id in waiters.keys { wake(id, nil) }
    for pairing in pairings.values { pairing.question?.cancel() }
    pairings = [:]
  }

  private func fail(_ peer: BluetoothAddress, _ failure: PairingFailure) {
    change(peer) {
      $0.question?.cancel()
      $0.question = nil
      $0.isUnderWay = false
      $0.failure = failure
    }
    for (id, waiter) in waiters where waiter.peer == peer { wake(id, failure) }
  }

  private func wake(_ id: UInt64, _ failure: PairingFailure?) {
    guard let waiter = waiters.removeValue(forKey: id) else { return }
    waiter.timer.cancel()
    waiter.continuation.resume(returning: failure)
  }

  private func change(_ peer: BluetoothAddress, _ body: (inout Pairing) -> Void) {
    if pairings[peer] == nil, pairings.count >= Self.limit {
      guard let old = pairings.first(where: { $0.value.failure != nil })?.key else { return }
      pairings[old] = nil
    }
    body(&pairings[peer, default: Pairing()])
  }
}
