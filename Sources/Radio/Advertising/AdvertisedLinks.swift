import Links

/// An advertisement's connections, and those who wait for one. The loop's thread only.
final class AdvertisedLinks {
  var parameters: AdvertisingParameters
  /// Called with what keeps centrals from being taken.
  var fail: ((LinkError) -> Void)?
  private var waiting: [ConnectedLink] = []
  private var takers: [(id: UInt64, continuation: CheckedContinuation<ConnectedLink?, Never>)] = []
  /// No more connections come: it was stopped, or ended with its first one.
  private(set) var isOver = false

  init(_ parameters: AdvertisingParameters) { self.parameters = parameters }

  /// Connections that wait to be taken.
  var count: Int { waiting.count }

  func add(_ link: ConnectedLink) {
    if takers.isEmpty {
      waiting.append(link)
    } else {
      takers.removeFirst().continuation.resume(returning: link)
    }
  }

  func take() -> ConnectedLink? { waiting.isEmpty ? nil : waiting.removeFirst() }

  func wait(_ id: UInt64, _ continuation: CheckedContinuation<ConnectedLink?, Never>) {
    takers.append((id, continuation))
  }

  func giveUp(_ id: UInt64) {
    guard let place = takers.firstIndex(where: { $0.id == id }) else { return }
    takers.remove(at: place).continuation.resume(returning: nil)
  }

  /// Those who wait learn that nothing comes; what waits can be taken still.
  func finish() {
    isOver = true
    let takers = takers
    self.takers = []
    for taker in takers { taker.continuation.resume(returning: nil) }
  }

  /// Closes what nobody has taken.
  func drop() { waiting = [] }
}
