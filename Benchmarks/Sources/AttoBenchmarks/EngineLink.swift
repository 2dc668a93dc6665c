import Atto
import AttoATT
import AttoEventLoop
import AttoGATT
import AttoLinks
import Glibc

/// The engine without the async API, as an embedder would drive it: a session, a link, and the
/// loop's readiness. What comes is received into one buffer and goes through the session; what
/// that wants sent goes to the link at once.
final class EngineLink: ReadinessHandler {
  let session: Session
  let link: SocketLink
  let loop: Loop
  private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 1024, alignment: 8)
  @exclusivity(unchecked) private(set) var isBlocked = false
  @exclusivity(unchecked) private var watch: WatchID?
  /// Values that were notified.
  @exclusivity(unchecked) var values = 0
  /// Called after all that was readable has been taken.
  @exclusivity(unchecked) var whenIdle: () -> Void = {}

  init(_ descriptor: Int32, _ loop: Loop, server: Server? = nil) throws {
    link = try SocketLink.adopt(descriptor)
    self.loop = loop
    let client = server?.connect()
    session = Session(
      BearerConfiguration(receiveMTU: 517, outboxLimit: 2048), server: server, client: client)
    watch = try loop.watch(link.descriptor!, trigger: .level, self)
  }

  deinit { room.deallocate() }

  /// Takes one PDU; false if there was none, or there is no reason to expect another.
  func receive() -> Bool {
    var out = OutputRawSpan(buffer: room, initializedCount: 0)
    let outcome = try? link.receive(into: &out)
    let count = out.finalize(for: room)
    switch outcome {
    case .pdu: break
    case .wouldBlock: return false
    case .closed, nil:
      loop.stop()
      return false
    }
    let pdu = UnsafeRawBufferPointer(rebasing: room[..<count]).bytes
    switch session.receive(pdu, at: now) {
    case .notification:
      values += 1
      return true
    case .failed(let failure): fatalError("the bearer died: \(failure)")
    default: break
    }
    flush()
    return false
  }

  var now: Instant { Instant(nanoseconds: loop.now) }

  func flush() {
    let sentAll =
      session.outputCount > 1
      ? try? session.transmit(together: { (entries) throws(LinkError) in
        try link.send(together: entries)
      })
      : try? session.transmit { (pdu) throws(LinkError) in try link.send(pdu) == .sent }
    let isBlocked = sentAll == false
    guard isBlocked != self.isBlocked else { return }
    self.isBlocked = isBlocked
    loop.setInterest(watch!, isBlocked ? [.readable, .writable] : .readable)
  }

  func ready(_ readiness: Readiness) {
    if readiness.contains(.writable) { flush() }
    if readiness.contains(.readable) { while receive() {} }
    whenIdle()
  }
}
