import AttoEventLoop
import AttoLinks
import AttoRadio
import Synchronization

extension LinkReception {
  /// Keeps the kernel's socket for enhanced bearers open while a listener listens, so that the first
  /// client finds it. If it cannot be opened, clients have the unenhanced bearer only, and
  /// ``ServerListener/bearerFailure`` gives the reason.
  func holdingBearers(
    _ listener: ServerListener, of source: L2CAPSource
  ) async throws(AttoError) -> ServerListener {
    guard let channelMTU else { return listener }
    let loop = loop
    let result: Result<EnhancedListener, RadioError> = try await loop.withWaiter {
      (waiter: Waiter<Result<EnhancedListener, RadioError>, AttoError>) in
      waiter.resume(
        .success(
          Result { () throws(RadioError) in
            try EnhancedListener.hold(source, mtu: channelMTU, on: loop)
          }))
    }
    var obstacle: RadioError?
    if case .failure(let error) = result { obstacle = error }
    let held = Mutex(try? result.get())
    return ServerListener(
      endpoint: listener.endpoint, notice: listener.notice, isAdvertised: listener.isAdvertised,
      bearerFailure: obstacle
    ) {
      listener.stop()
      held.withLock { $0 = nil }
    }
  }
}
