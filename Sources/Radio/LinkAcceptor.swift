package import EventLoop
package import Links

/// Takes the links of a listening socket as they come.
package typealias LinkAcceptor = SocketAcceptor<SocketLink>

/// Takes the connections of a listening socket as they come. The loop's thread only; ``stop()`` must
/// be called.
///
/// # Theory
/// Where the machine has no room for another connection nobody tells when it has again, so taking
/// them pauses and is tried again. While it pauses, readiness changes nothing: each connection that
/// comes meanwhile would begin a pause of its own. Who listens is told when it begins, and not of
/// each trial, since it may last for hours.
///
///     taking --no room: told--> pausing --time is up--> trying --no room-------> pausing
///                                                          '----a connection--> taking
package final class SocketAcceptor<Connection>: ReadinessHandler {
  /// Pause after the machine had no room for another connection: nobody tells when it has again.
  package static var pause: Duration { .milliseconds(100) }

  private let next: () throws(LinkError) -> Connection?
  private let close: () -> Void
  private let loop: Loop
  private let deliver: (Connection) -> Void
  private let fail: (LinkError) -> Void
  private var watch: WatchID?
  private var retry: OneTimer?
  /// Whether nothing has been taken since there was no room.
  private var isShort = false

  /// - Parameters:
  ///   - next: takes a connection; nil if none waits.
  ///   - close: closes the socket.
  ///   - fail: called with what kept a connection from being taken. Where that is transient, it is
  ///     called once until one is taken again, and taking them goes on after ``pause``.
  /// - Throws: `LoopError` if the socket cannot be watched; it is closed then.
  package init(
    _ descriptor: Int32?, on loop: Loop, next: @escaping () throws(LinkError) -> Connection?,
    close: @escaping () -> Void, _ deliver: @escaping (Connection) -> Void,
    failure fail: @escaping (LinkError) -> Void = { _ in }
  ) throws(LoopError) {
    self.next = next
    self.close = close
    self.loop = loop
    self.deliver = deliver
    self.fail = fail
    guard let descriptor else { return }
    do throws(LoopError) {
      watch = try loop.watch(descriptor, self)
    } catch {
      close()
      throw error
    }
  }

  package func ready(_ readiness: Readiness) {
    if retry == nil { accept() }
  }

  private func accept() {
    while watch != nil {
      do throws(LinkError) {
        guard let link = try next() else { return isShort = false }
        isShort = false
        deliver(link)
      } catch {
        let isTold = isShort
        if error.isTransient {
          isShort = true
          retry = OneTimer(after: Self.pause, on: loop) { [weak self] in
            self?.retry = nil
            self?.accept()
          }
        }
        if !isTold { fail(error) }
        return
      }
    }
  }

  /// Takes no more connections; more than once does nothing.
  package func stop() {
    retry?.cancel()
    retry = nil
    guard let watch else { return }
    loop.unwatch(watch)
    self.watch = nil
    close()
  }
}

extension SocketAcceptor<SocketLink> {
  /// Takes the links of a listener.
  ///
  /// - Throws: `LoopError` if the socket cannot be watched; the listener is closed then.
  package convenience init(
    _ listener: any LinkListener, on loop: Loop, _ deliver: @escaping (SocketLink) -> Void,
    failure fail: @escaping (LinkError) -> Void = { _ in }
  ) throws(LoopError) {
    try self.init(
      listener.descriptor, on: loop,
      next: { () throws(LinkError) in
        let refused = listener.refused
        // Closed with the descriptor that is held in reserve: their clients saw an end.
        defer { if listener.refused > refused, let refusal = listener.refusal { fail(refusal) } }
        return try listener.accept()
      },
      close: { listener.close() }, deliver, failure: fail)
  }
}
