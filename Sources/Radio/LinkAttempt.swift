import Glibc
package import EventLoop
package import Links

/// One attempt to connect a socket: to a Unix path, to a peer's ATT channel, or to another channel
/// of it. The loop's thread only.
///
/// A Unix socket whose listener has as many waiting as it may refuses at once, with EAGAIN; it is
/// tried again until the time is up, as a blocking connect would wait for room. For an L2CAP one the
/// kernel looks for the peer's advertisement first, and then connects; giving the socket up ends
/// that. An absent peer and a wrong kind of address look alike there: nothing happens.
package final class LinkAttempt<Maker: Connector>: ReadinessHandler {
  /// How it ended.
  package enum End {
    case connected(Maker.Connection)
    case failed(LinkError)
    /// The socket could not be watched.
    case unwatched(LoopError)
    case timedOut(after: Duration)
    case givenUp
  }

  /// Pause before a listener without room is asked again.
  package static var pause: Duration { .milliseconds(5) }

  private let makeConnector: () throws(LinkError) -> Maker
  private let timeout: Duration?
  private let loop: Loop
  private var completion: ((End) -> Void)?
  private var connector: Maker?
  private var watch: WatchID?
  private var timer: OneTimer?
  private var retry: OneTimer?

  /// - Parameters:
  ///   - timeout: nil waits until it is given up.
  ///   - completion: called once, perhaps within ``start()``.
  package init(
    on loop: Loop, timeout: Duration?,
    _ makeConnector: @escaping () throws(LinkError) -> Maker,
    completion: @escaping (End) -> Void
  ) {
    self.makeConnector = makeConnector
    self.timeout = timeout
    self.loop = loop
    self.completion = completion
  }

  package func start() {
    if let timeout {
      timer = OneTimer(after: timeout, on: loop) { [weak self] in
        self?.finish(.timedOut(after: timeout))
      }
    }
    tryToStart()
  }

  private func tryToStart() {
    do throws(LinkError) {
      let connector = try makeConnector()
      self.connector = connector
      if try connector.start() == .connected { return tryToFinish() }
      guard let descriptor = connector.descriptor else { return }
      do throws(LoopError) {
        watch = try loop.watch(descriptor, self)
      } catch {
        finish(.unwatched(error))
      }
    } catch {
      guard error.errno == EAGAIN else { return finish(.failed(error)) }
      connector = nil
      retry = OneTimer(after: Self.pause, on: loop) { [weak self] in self?.tryToStart() }
    }
  }

  package func ready(_ readiness: Readiness) { tryToFinish() }

  private func tryToFinish() {
    do throws(LinkError) {
      guard let link = try connector?.finish() else { return }
      finish(.connected(link))
    } catch {
      finish(.failed(error))
    }
  }

  /// Gives it up; does nothing once it has ended.
  package func giveUp() { finish(.givenUp) }

  private func finish(_ end: End) {
    guard let completion else { return }
    self.completion = nil
    // The watch must go before the link, whose own watch takes the same descriptor.
    if let watch { loop.unwatch(watch) }
    watch = nil
    timer?.cancel()
    retry?.cancel()
    connector = nil
    completion(end)
  }
}
