import AttoEventLoop
import AttoLinks
import AttoRadio
import Glibc

// The kernel uses the link that there is to the peer, of any program, and connects if there is none.
// It encrypts, and pairs, if the peer refuses a channel for lack of security.
extension KernelBackend {
  func openChannel(
    _ psm: UInt16, to peer: BluetoothAddress, timeout: Duration,
    _ completion: @escaping RadioCompletion<Channel>
  ) -> EndOperation {
    let source = source
    if channelAttemptCount == 0 {
      // Refusals of channels that other programs asked for.
      monitor?.receive()
      monitor?.links.forgetRefusals()
    }
    channelAttemptCount += 1
    return attempt(peer, timeout) { () throws(LinkError) in
      try SocketConnector(L2CAPAddress(peer, source: source), psm: psm)
    } refused: { [weak self] error in
      switch error.errno {
      case ECONNREFUSED:
        // The monitor reports the answer of the peer before the socket fails.
        self?.monitor?.receive()
        let refusal = self?.monitor?.links.removeRefusal(by: peer)
        return .channelRefused(peer, psm: psm, refusal ?? .unspecified)
      case EACCES: return .channelRefused(peer, psm: psm, .insufficientEncryption)
      default: return .link(error)
      }
    } connected: { [loop] (socket) throws(RadioError) in
      try Channel(socket, peer: peer, psm: psm, on: loop)
    } completion: { [weak self] result in
      self?.channelAttemptCount -= 1
      completion(result)
    }
  }

  func publish(
    _ publication: ChannelPublication, at wanted: UInt16?
  ) throws(RadioError) -> UInt16 {
    var psm = wanted ?? 0
    let options = L2CAPOptions(security: publication.requiresEncryption ? .medium : .low)
    let acceptor = try accept { () throws(LinkError) in
      let (listener, chosen) = try SocketListener.channels(
        source: source, psm: psm, options: options)
      psm = chosen
      return listener
    } deliver: { [loop] socket, peer in
      guard let channel = try? Channel(socket, peer: peer, psm: psm, on: loop) else { return }
      // The channel is open already: one for which there is no room is closed.
      _ = publication.offer(channel)
    }
    channelAcceptors[psm] = acceptor
    return psm
  }

  func unpublish(_ psm: UInt16) { channelAcceptors.removeValue(forKey: psm)?.stop() }
}
