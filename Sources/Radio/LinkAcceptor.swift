package import EventLoop
package import Links

/// Takes the connections of a listening socket as they come. The loop's thread only; ``stop()`` must
/// be called.
package final class LinkAcceptor: ReadinessHandler {
  /// Pause after the machine had no room for another connection: nobody tells when it has again.
  package static let pause: Duration = .milliseconds(100)

  private let listener: any LinkListener
  private let loop: Loop
  private let deliver: (SocketLink) -> Void
  private let fail: (LinkError) -> Void
  private var watch: WatchID?
  private var retry: OneTimer?

  /// - Parameter fail: called with what kept a connection from being taken; where that is
  ///   transient, taking them goes on after ``pause``.
  /// - Throws: `LoopError` if the socket cannot be watched; the listener is closed then.
  package init(
    _ listener: any LinkListener, on loop: Loop, _ deliver: @escaping (SocketLink) -> Void,
    failure fail: @escaping (LinkError) -> Void = { _ in }
  ) throws(LoopError) {
    self.listener = listener
    self.loop = loop
    self.deliver = deliver
    self.fail = fail
    guard let descriptor = listener.descriptor else { return }
    do throws(LoopError) {
      watch = try loop.watch(descriptor, self)
    } catch {
      listener.close()
      throw error
    }
  }

  package func ready(_ readiness: Readiness) { accept() }

  private func accept() {
    while watch != nil {
      do throws(LinkError) {
        guard let link = try listener.accept() else { return }
        deliver(link)
      } catch {
        fail(error)
        if error.isTransient {
          retry = OneTimer(after: Self.pause, on: loop) { [weak self] in self?.accept() }
        }
        return
      }
    }
  }

  /// Takes no more connections; more than once does nothing.
  package func stop() {
    retry?.cancel()
    guard let watch else { return }
    loop.unwatch(watch)
    self.watch = nil
    listener.close()
  }
}
