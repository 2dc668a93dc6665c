import EventLoop

/// An advertisement's connections, and those who wait for one. The loop's thread only.
final class AirAdvertisement {
  var parameters: AdvertisingParameters
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

/// A central that has not said yet who it is. The loop's thread only.
final class AirHandshake {
  let control: AirControlSocket
  private let timer: OneTimer

  init(
    _ control: AirControlSocket, on loop: Loop, limit: Duration, _ ranOut: @escaping () -> Void
  ) {
    self.control = control
    timer = OneTimer(after: limit, on: loop, ranOut)
  }

  /// Ends it and closes the socket.
  func end() {
    timer.cancel()
    control.close()
  }

  /// Ends it; the socket goes on as a link's.
  func succeed() { timer.cancel() }
}
