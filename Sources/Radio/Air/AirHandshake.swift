import EventLoop

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
