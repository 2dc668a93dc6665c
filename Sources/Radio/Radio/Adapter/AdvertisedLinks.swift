import AttoEventLoop
import AttoLinks

/// The connections of an advertisement, and the callers that wait for one. The loop's thread only.
final class AdvertisedLinks {
  var parameters: AdvertisingParameters
  /// Called with what keeps connections from being accepted.
  var fail: ((LinkError) -> Void)?
  let waiters = WaiterList<Void, ConnectedLink?, RadioError>()
  private var queue: [ConnectedLink] = []
  /// Whether no more connections come: the advertisement was stopped, or ended with its first one.
  private(set) var isOver = false

  init(_ parameters: AdvertisingParameters) { self.parameters = parameters }

  var count: Int { queue.count }

  func add(_ link: ConnectedLink) {
    if !waiters.resumeFirst(.success(link)) { queue.append(link) }
  }

  func removeFirst() -> ConnectedLink? { queue.isEmpty ? nil : queue.removeFirst() }

  /// Resumes the callers that wait. What is in the queue can still be removed.
  func finish() {
    isOver = true
    waiters.resumeAll(.success(nil))
  }

  func drop() { queue = [] }
}
