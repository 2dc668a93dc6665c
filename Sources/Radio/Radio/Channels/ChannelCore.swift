import AttoEventLoop
import AttoLinks

/// The socket of a channel, which the loop watches. The loop's thread only.
///
///     open --close, all sent--> closed
///       '----close----> lingering --all sent | lingerTime | ended by the peer--> closed
///
/// When an L2CAP socket is closed, the kernel drops octets that wait for credits of the peer. So a
/// channel with unsent octets lingers. Nothing reports when they are sent: they are counted every
/// ``lingerPause``.
final class ChannelCore: ReadinessHandler {
  /// The time for which a closed channel still sends.
  static let lingerTime: Duration = .seconds(10)
  static let lingerPause: Duration = .milliseconds(20)

  let socket: ChannelSocket
  private let loop: Loop
  private var watch: WatchID?
  private var handler: ((Readiness) -> Void)?
  private var lingerTimer: LoopTimer?

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

  func setHandler(_ handler: ((Readiness) -> Void)?) {
    guard let watch else { return }
    self.handler = handler
    // The loop does not report again what was ready before.
    if handler != nil { loop.reschedule(watch, [.readable, .writable]) }
  }

  func ready(_ readiness: Readiness) { handler?(readiness) }

  func close() {
    guard let watch else { return }
    self.watch = nil
    handler = nil
    loop.unwatch(watch)
    linger(until: loop.now + Self.lingerTime.inNanoseconds)
  }

  /// The timer holds the channel.
  private func linger(until end: Int64) {
    guard socket.hasUnsent, loop.now < end else {
      lingerTimer = nil
      return socket.close()
    }
    lingerTimer = LoopTimer(after: Self.lingerPause, on: loop) { self.linger(until: end) }
  }
}
