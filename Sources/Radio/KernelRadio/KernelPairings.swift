import AttoEventLoop
import AttoLinks
import AttoRadio

/// How pairing goes with each peer of an adapter: the steps of this end, and the result. The loop's
/// thread only.
///
/// # Theory
/// The kernel reports in events of different kinds that pairing has failed and that links have
/// ended. What they mean depends on what this end was asked before.
///
///     new --asked--> asked --key--> paired
///      |              |--failed--> failed
///      |              '--link ends--> failed: linkLost
///      '--link ends for authentication, nothing was asked--> failed: keyMissing
///
/// # Limits
/// ``limit`` peers; the kernel supports fewer links. Beyond that failed ones are forgotten.
final class KernelPairings {
  static let limit = 256
  /// If a link ends this long after the last step, that step has timed out: the kernel waits 30 s for
  /// each (Vol 3, Part H, 3.4).
  static let patience: Duration = .seconds(28)

  private struct Pairing {
    var step = PairingStep.nothing
    var isUnderWay = false
    var lastStep = ContinuousClock.now
    var isPaired = false
    var hasFailed = false
    var question: Task<Void, Never>?

    var failureAtEnd: PairingFailure {
      lastStep.duration(to: .now) >= KernelPairings.patience ? .timeout : .linkLost
    }
  }

  private var pairings: [BluetoothAddress: Pairing] = [:]
  /// Peers for which a command to pair is under way. To the sender of the command the kernel reports
  /// a failure of pairing in its answer only.
  private var commanded: Set<BluetoothAddress> = []
  private let agents: AgentCalls

  init(_ agents: AgentCalls) { self.agents = agents }

  var count: Int { pairings.count }

  /// A peer has connected: earlier results are forgotten.
  func connected(_ peer: BluetoothAddress) {
    pairings[peer] = nil
    agents.connected(peer)
  }

  /// A command to pair with a peer is sent.
  func commandBegins(_ peer: BluetoothAddress) {
    connected(peer)
    commanded.insert(peer)
  }

  /// The command has ended; nil: the kernel has paired, or has not started to.
  func commandEnds(_ peer: BluetoothAddress, _ status: ManagementStatus?) -> PairingFailure? {
    commanded.remove(peer)
    switch status {
    case .authenticationFailed?: return failed(peer, .authenticationFailed)
    case .failed?, .disconnected?, .timeout?, .notConnected?:
      guard let pairing = pairings[peer], pairing.isUnderWay else { return nil }
      return fail(peer, pairing.failureAtEnd)
    default: return nil
    }
  }

  /// Pairing has started, or made a step. A question to the agent is cancelled if pairing ends before
  /// the answer.
  func noted(
    _ peer: BluetoothAddress, _ step: PairingStep = .nothing, question: Task<Void, Never>? = nil
  ) {
    change(peer) {
      $0.isUnderWay = true
      $0.lastStep = .now
      if step != .nothing { $0.step = step }
      if let question { $0.question = question }
    }
  }

  /// There is a key for the peer.
  func paired(_ peer: BluetoothAddress) {
    var wasPaired = false
    change(peer) {
      wasPaired = $0.isPaired
      $0.isPaired = true
      $0.isUnderWay = false
      $0.question = nil
    }
    if !wasPaired { agents.tell { await $0.paired(with: peer) } }
  }

  @discardableResult
  func failed(_ peer: BluetoothAddress, _ status: ManagementStatus) -> PairingFailure {
    switch status {
    case .timeout: fail(peer, .timeout)
    case .disconnected, .connectFailed, .notConnected: fail(peer, .linkLost)
    default: fail(peer, .disagreement(pairings[peer]?.step ?? .nothing))
    }
  }

  /// A link has ended, perhaps because pairing has failed.
  func disconnected(_ peer: BluetoothAddress, isAuthenticationFailure: Bool) {
    let pairing = pairings[peer] ?? Pairing()
    // The answer to the command reports the result, and may arrive later.
    guard !pairing.hasFailed, !commanded.contains(peer) else { return }
    if pairing.isUnderWay {
      fail(peer, isAuthenticationFailure ? .timeout : pairing.failureAtEnd)
    } else if isAuthenticationFailure {
      fail(peer, .keyMissing)
    } else {
      pairings[peer] = nil
    }
  }

  func close() {
    for pairing in pairings.values { pairing.question?.cancel() }
    pairings = [:]
  }

  @discardableResult
  private func fail(_ peer: BluetoothAddress, _ failure: PairingFailure) -> PairingFailure {
    change(peer) {
      $0.question?.cancel()
      $0.question = nil
      $0.isUnderWay = false
      $0.hasFailed = true
    }
    agents.failed(peer, failure)
    return failure
  }

  private func change(_ peer: BluetoothAddress, _ body: (inout Pairing) -> Void) {
    if pairings[peer] == nil, pairings.count >= Self.limit {
      guard let old = pairings.first(where: \.value.hasFailed)?.key else { return }
      pairings[old] = nil
    }
    body(&pairings[peer, default: Pairing()])
  }
}
