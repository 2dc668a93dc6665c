import AttoATT
import AttoEventLoop
import AttoLinks

/// A client for which a server has no place. It learns the reason where the link has a way to tell
/// it: its first request gets Insufficient Resources, and then the link is closed.
///
/// The loop holds the object until the link is closed, at the latest after ``timeLimit``.
final class RefusedClient: ReadinessHandler {
  /// The time in which the first request must come.
  static let timeLimit: Duration = .seconds(1)
  /// Links of one server that wait for it.
  static let limit = 64

  private let link: any Link
  private let loop: Loop
  private var watch: WatchID?
  private var timer: LoopTimer?
  private let onEnd: () -> Void

  /// Takes ownership of the link, and closes it at once if it cannot be watched.
  ///
  /// - Parameter onEnd: called once, perhaps before this returns.
  @discardableResult
  init(_ link: any Link, on loop: Loop, onEnd: @escaping () -> Void) {
    self.link = link
    self.loop = loop
    self.onEnd = onEnd
    guard let descriptor = link.descriptor, let watch = try? loop.watch(descriptor, self) else {
      link.close()
      onEnd()
      return
    }
    self.watch = watch
    timer = LoopTimer(after: Self.timeLimit, on: loop) { [weak self] in self?.end() }
  }

  func ready(_ readiness: Readiness) {
    // A request, or its beginning, is enough.
    let buffer = ReceiveBuffer(capacity: ErrorResponse.length)
    guard let outcome = try? buffer.receive(from: link) else { return end() }
    switch outcome {
    case .wouldBlock: return
    case .closed: return end()
    case .pdu: break
    }
    let refusal = buffer.withPDU { Self.refusal(of: $0) }
    if let refusal { _ = try? link.send(refusal.span.bytes) }
    end()
  }

  /// The answer to a PDU; nil for one that is not a request.
  static func refusal(of pdu: RawSpan) -> [UInt8]? {
    guard pdu.byteCount > 0, Opcode(pdu.octet(at: 0)).response != nil else { return nil }
    let opcode = pdu.octet(at: 0)
    let hasHandle = pdu.byteCount >= 3 && opcode != 0x02 && opcode != 0x18
    return [
      0x01, opcode, hasHandle ? pdu.octet(at: 1) : 0, hasHandle ? pdu.octet(at: 2) : 0,
      ErrorCode.insufficientResources.rawValue,
    ]
  }

  private func end() {
    guard let watch else { return }
    self.watch = nil
    loop.unwatch(watch)
    timer?.cancel()
    link.close()
    onEnd()
  }
}
