import Glibc
import AttoEventLoop
package import AttoLinks

/// An attempt to connect a socket to a Unix path, or to the ATT channel or another channel of a
/// peer. The loop's thread only.
///
/// A Unix socket fails at once with EAGAIN while the queue of the listener is full. It is tried
/// again until the timeout, as a blocking connect would wait for room. For an L2CAP socket the
/// kernel waits for an advertisement of the peer, and then connects. Closing the socket ends that.
/// An absent peer and a wrong kind of address look alike there: nothing happens.
package final class LinkAttempt<Connected>: ReadinessHandler {
  package enum End {
    case connected(Connected)
    case failed(LinkError)
    /// The socket could not be watched.
    case unwatched(LoopError)
    case timedOut(after: Duration)
    case givenUp
  }

  /// Time before a listener without room is tried again.
  package static var pause: Duration { .milliseconds(5) }

  private let makeConnector: () throws(LinkError) -> SocketConnector<Connected>
  private let timeout: Duration?
  private let loop: Loop
  private var completion: ((End) -> Void)?
  private var connector: SocketConnector<Connected>?
  private var watch: WatchID?
  private var timer: LoopTimer?
  private var retry: LoopTimer?

  /// - Parameters:
  ///   - timeout: nil waits until ``giveUp()``.
  ///   - completion: called once, perhaps by ``start()``.
  package init(
    on loop: Loop, timeout: Duration?,
    _ makeConnector: @escaping () throws(LinkError) -> SocketConnector<Connected>,
    completion: @escaping (End) -> Void
  ) {
    self.makeConnector = makeConnector
    self.timeout = timeout
    self.loop = loop
    self.completion = completion
  }

  package func start() {
    if let timeout {
      timer = LoopTimer(after: timeout, on: loop) { [weak self] in
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
      retry = LoopTimer(after: Self.pause, on: loop) { [weak self] in self?.tryToStart() }
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

  /// Ends the attempt; does nothing if it has ended.
  package func giveUp() { finish(.givenUp) }

  private func finish(_ end: End) {
    guard let completion else { return }
    self.completion = nil
    // Before completion: the link watches the same descriptor.
    if let watch { loop.unwatch(watch) }
    watch = nil
    timer?.cancel()
    retry?.cancel()
    connector = nil
    completion(end)
  }
}
