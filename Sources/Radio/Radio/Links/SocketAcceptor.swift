package import AttoEventLoop
package import AttoLinks

/// Accepts the links of a listening socket.
package typealias LinkAcceptor = SocketAcceptor<SocketLink>

/// Accepts the connections of a listening socket. The loop's thread only; ``stop()`` must be
/// called.
///
/// # Theory
/// Connecting is cheaper than accepting, so a process that connects without pause keeps the queue of
/// the socket from ever being empty. Therefore one turn of the loop accepts at most ``budget``
/// connections, and the next turn goes on: those that are connected already, and timers, have their
/// turn in between. Connections that have ended in the queue are closed by the listener, a bounded
/// number for each that is accepted, and never delivered.
///
/// The kernel's queue is first in, first out, so an honest client waits until the connections before it
/// are accepted: with one attacker and 4096 places, 4 ms at most where it closes its connections at
/// once, 16 ms where it holds silent ones, and 80 ms where each sends a request (99 of 100 clients,
/// two processors). A shorter queue would shorten the wait and refuse clients that do not block with
/// EAGAIN, which most programs take for an error.
///
/// When the process or the machine has no resources for another connection, nothing reports when
/// it has some again. So accepting pauses, and is tried again. Meanwhile readiness is ignored: each
/// connection that arrives would start a pause of its own. The failure is reported when it begins
/// and not for each try, since it may last for hours.
///
///     accepting --no resources: reported--> pausing --time--> trying --no resources--> pausing
///                                                               '-----a connection--> accepting
package final class SocketAcceptor<Accepted>: ReadinessHandler {
  /// Time between two tries.
  package static var pause: Duration { .milliseconds(100) }

  /// Connections that one turn of the loop accepts.
  package static var budget: Int { 8 }

  private let next: () throws(LinkError) -> Accepted?
  private let mayHaveMore: () -> Bool
  private let close: () -> Void
  private let loop: Loop
  private let hasRoom: () -> Bool
  private let deliver: (Accepted) -> Void
  private let fail: (LinkError) -> Void
  private var watch: WatchID?
  private var retry: LoopTimer?
  /// Whether nothing has been accepted since resources ran out.
  private var isShort = false

  /// - Parameters:
  ///   - next: accepts a connection; nil if none waits.
  ///   - mayHaveMore: whether connections may wait although `next` has returned nil.
  ///   - close: closes the socket.
  ///   - hasRoom: whether there is room for another connection. Where there is none, connections
  ///     wait in the queue of the socket until ``resume()``.
  ///   - fail: called with what kept a connection from being accepted. A transient failure is
  ///     reported once until a connection is accepted, and accepting goes on after ``pause``.
  /// - Throws: `LoopError` if the socket cannot be watched; it is closed then.
  package init(
    _ descriptor: Int32?, on loop: Loop, next: @escaping () throws(LinkError) -> Accepted?,
    mayHaveMore: @escaping () -> Bool = { false }, close: @escaping () -> Void,
    hasRoom: @escaping () -> Bool = { true },
    _ deliver: @escaping (Accepted) -> Void,
    failure fail: @escaping (LinkError) -> Void = { _ in }
  ) throws(LoopError) {
    self.next = next
    self.mayHaveMore = mayHaveMore
    self.close = close
    self.loop = loop
    self.hasRoom = hasRoom
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

  /// Accepts what waits, in the next turn, so that several calls do not exceed the ``budget``.
  package func resume() {
    if let watch { loop.reschedule(watch, .readable) }
  }

  private func accept() {
    var left = Self.budget
    while let watch, hasRoom() {
      guard left > 0 else { return loop.reschedule(watch, .readable) }
      left -= 1
      do throws(LinkError) {
        guard let accepted = try next() else {
          isShort = false
          if mayHaveMore() { loop.reschedule(watch, .readable) }
          return
        }
        isShort = false
        deliver(accepted)
      } catch {
        let isTold = isShort
        if error.isTransient {
          isShort = true
          retry = LoopTimer(after: Self.pause, on: loop) { [weak self] in
            self?.retry = nil
            self?.accept()
          }
        }
        if !isTold { fail(error) }
        return
      }
    }
  }

  /// Accepts no more connections; more than once does nothing.
  package func stop() {
    retry?.cancel()
    retry = nil
    guard let watch else { return }
    loop.unwatch(watch)
    self.watch = nil
    close()
  }
}

extension SocketAcceptor {
  /// Accepts the connections of a listener.
  ///
  /// - Throws: `LoopError` if the socket cannot be watched; the listener is closed then.
  package convenience init(
    _ listener: SocketListener<Accepted>, on loop: Loop, hasRoom: @escaping () -> Bool = { true },
    _ deliver: @escaping (Accepted) -> Void,
    failure fail: @escaping (LinkError) -> Void = { _ in }
  ) throws(LoopError) {
    try self.init(
      listener.descriptor, on: loop,
      next: { () throws(LinkError) in
        let refused = listener.refused
        // Accepted with the reserved descriptor and closed at once.
        defer { if listener.refused > refused, let refusal = listener.refusal { fail(refusal) } }
        return try listener.accept()
      },
      mayHaveMore: { listener.mayHaveMore }, close: { listener.close() }, hasRoom: hasRoom, deliver,
      failure: fail)
  }
}
