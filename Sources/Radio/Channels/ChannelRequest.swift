import EventLoop
import Links

/// A channel that somebody waits for, on the virtual air. The loop's thread only.
///
/// Ends once: with a channel, an error, or the time that it was given.
final class ChannelRequest {
  let psm: UInt16
  private var completion: ((Result<Channel, RadioError>) -> Void)?
  private var timer: OneTimer?

  init(
    _ psm: UInt16, to peer: BluetoothAddress, timeout: Duration, on loop: Loop,
    _ completion: @escaping (Result<Channel, RadioError>) -> Void
  ) {
    self.psm = psm
    self.completion = completion
    timer = OneTimer(after: timeout, on: loop) { [weak self] in
      self?.end(.failure(.timedOut(peer, after: timeout)))
    }
  }

  var hasEnded: Bool { completion == nil }

  func end(_ result: Result<Channel, RadioError>) {
    guard let completion else { return }
    self.completion = nil
    timer?.cancel()
    completion(result)
  }
}
