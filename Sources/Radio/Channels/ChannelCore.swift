import EventLoop
import Links

/// A channel's socket under the loop's watch. The loop's thread only.
///
///     open --close, all sent--> closed
///       '----close----> lingering --all sent | lingerTime | the peer has ended it--> closed
///
/// The kernel drops what waits for the peer's credits when an L2CAP socket is closed. So a channel
/// that is closed with something unsent lingers; nothing tells when that is out, and it is looked
/// at every ``lingerPause``.
final class ChannelCore: ReadinessHandler {
  /// How long a closed channel still sends.
  static let lingerTime: Duration = .seconds(10)
  static let lingerPause: Duration = .milliseconds(20)

  let socket: ChannelSocket
  private let loop: Loop
  private var watch: WatchID?
  private var handler: ((Readiness) -> Void)?
  private var lingerTimer: OneTimer?

  init(_ socket: ChannelSocket, on loop: Loop) throws(RadioError) {
    self.socket = socket
    self.loop = loop
    guard let descriptor = socket.descriptor else { return }
    do throws(LoopError) {
      watch = try loop.watch(descriptor, self)
    } catch {
      socket.close()
      throw .system("watch a channel", errno: error.errno)
    }
  }

  func hand(to handler: ((Readiness) -> Void)?) {
    guard let watch else { return }
    self.handler = handler
    // What was ready before has been told already.
    if handler != nil { loop.reschedule(watch, [.readable, .writable]) }
  }

  func ready(_ readiness: Readiness) { handler?(readiness) }

  /// The link beneath has ended.
  func shutDown() { socket.shutDown() }

  func close() {
    guard let watch else { return }
    self.watch = nil
    handler = nil
    loop.unwatch(watch)
    linger(until: loop.now + Int64(Self.lingerTime / .nanoseconds(1)))
  }

  /// The timer holds the channel until it is over.
  private func linger(until end: Int64) {
    guard socket.hasUnsent, loop.now < end else {
      lingerTimer = nil
      return socket.close()
    }
    lingerTimer = OneTimer(after: Self.lingerPause, on: loop) { self.linger(until: end) }
  }
}
