package import AttoEventLoop
package import AttoLinks

/// The agent of a radio, and the failures of pairing with its peers. The loop's thread only.
///
/// A failure is stored until the peer connects again: a socket reports only that its link has ended,
/// and may do so before the failure is known. Beyond ``failureLimit`` peers others are forgotten.
package final class AgentCalls {
  package static let failureLimit = 1024

  package var agent: (any PairingAgent)?
  private let loop: Loop
  private var failures: [BluetoothAddress: PairingFailure] = [:]
  private let waiters = WaiterList<BluetoothAddress, PairingFailure?, RadioError>()
  private var watches: [WeakWatch] = []

  private struct WeakWatch {
    weak var watch: PairingWatch?
  }

  package init(on loop: Loop) { self.loop = loop }

  /// Tells the agent of an event, in order.
  package func tell(_ body: @escaping @Sendable (any PairingAgent) async -> Void) {
    guard let agent else { return }
    Task(executorPreference: loop.tasks) { await body(agent) }
  }

  /// Asks the agent.
  ///
  /// - Parameter answered: called on the loop with the answer, unless the question was cancelled.
  /// - Returns: what cancels the question; nil without an agent.
  package func ask<Answer: Sendable>(
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

  // MARK: Failures

  /// A peer has connected, or pairing begins: an earlier failure is forgotten.
  package func connected(_ peer: BluetoothAddress) { failures[peer] = nil }

  package func failed(_ peer: BluetoothAddress, _ failure: PairingFailure) {
    if failures.count >= Self.failureLimit, failures[peer] == nil { failures = [:] }
    failures[peer] = failure
    waiters.resume(.success(failure)) { $0 == peer }
    for case let watch? in watches.map(\.watch) where watch.peer == peer { watch.failed(failure) }
    tell { await $0.failed(peer, failure) }
  }

  package func failure(_ peer: BluetoothAddress) -> PairingFailure? { failures[peer] }

  /// Resumes the waiter with the failure of a peer, or after this time with nil.
  func failure(
    of peer: BluetoothAddress, within time: Duration, _ waiter: Waiter<PairingFailure?, RadioError>
  ) {
    if let failure = failures[peer] { return waiter.resume(.success(failure)) }
    waiters.append(waiter, for: peer)
    waiter.resume(.success(nil), after: time)
  }

  /// Watches a peer to which a connection begins: an earlier failure is forgotten.
  func watch(_ peer: BluetoothAddress) -> PairingWatch {
    connected(peer)
    watches.removeAll { $0.watch == nil }
    let watch = PairingWatch(peer)
    watches.append(WeakWatch(watch: watch))
    return watch
  }

  func close() { waiters.resumeAll(.success(nil)) }
}
