import AttoATT
import AttoEventLoop
import AttoLinks
import AttoRadio

extension AirBackend {
  nonisolated(nonsending) func agentChanged() async throws(RadioError) {}

  /// Pairs over a link of its own: connects, raises the security, closes the link.
  func pair(
    with peer: PeerTarget, timeout: Duration,
    _ completion: @escaping RadioCompletion<BluetoothAddress>
  ) -> EndOperation {
    if agents.agent == nil { agents.agent = JustWorksAgent() }
    var link: AirLink?
    func finish(_ result: Result<BluetoothAddress, RadioError>) {
      link?.onRaised = nil
      link?.close()
      link = nil
      completion(result)
    }
    func pair(over connected: AirLink) {
      let peer = connected.peer
      link = connected
      connected.answerTime = min(timeout, AirLink.answerTime)
      connected.onRaised = { failure in
        finish(failure.map { .failure(.pairing(peer, $0)) } ?? .success(peer))
      }
      do throws(LinkError) {
        try connected.raiseSecurity(to: .medium)
      } catch {
        finish(.failure(.pairing(peer, .linkLost)))
      }
    }
    let endAttempt = openLink(to: peer, timing: nil, timeout: timeout) { result in
      switch result {
      case .success(let connected): pair(over: connected)
      case .failure(let error): finish(.failure(error))
      }
    }
    return { error in
      endAttempt(error)
      finish(.failure(error))
    }
  }

  nonisolated(nonsending) func unpair(_ peer: BluetoothAddress) async throws(RadioError) {
    guard pairings.forget(BluetoothAddress(peer.value, kind: .random)) else {
      throw .notPaired(peer)
    }
  }
}
