import AttoATT
import AttoEventLoop
import AttoLinks
import AttoRadio
import AttoLinkTiming

/// Delays the PDUs that one end of a link sends until they would have arrived on a real link. The
/// loop's thread only.
///
/// # Theory
/// A ``Transmitter`` computes when each PDU arrives, and a timer passes it to the socket then. Its
/// clock is CLOCK_MONOTONIC, which both ends share, so that they have the same anchor points. A timer
/// that fires late delivers late, but does not change the transmitter's clock, so the rate is kept.
///
/// At most the PDUs of two intervals wait. Then sending blocks until half of them were delivered. If
/// the socket of the peer is full, delivery is tried again after an interval.
final class AirPacer {
  private let loop: Loop
  private let deliver: (RawSpan) throws(LinkError) -> SendOutcome
  private let whenWritable: () -> Void
  private var transmitter: Transmitter
  private var queue = PDUQueue()
  private var timer: LoopTimer?
  private var wasFull = false
  /// The error of a delivery, which the next ``send(_:)`` throws.
  private var failure: LinkError?
  private let countLimit: Int
  private let byteLimit: Int

  static let countLimit = 1024

  init(
    _ timing: AirTiming, on loop: Loop,
    deliver: @escaping (RawSpan) throws(LinkError) -> SendOutcome,
    whenWritable: @escaping () -> Void
  ) {
    self.loop = loop
    self.deliver = deliver
    self.whenWritable = whenWritable
    transmitter = Transmitter(timing.parameters, seed: timing.seed)
    let parameters = timing.parameters
    let least = parameters.exchangeTime(payload: LinkParameters.dataLengthRange.lowerBound)
    countLimit = min(Self.countLimit, max(4, Int(2 * parameters.interval / least)))
    let packets = 2 * parameters.interval / parameters.exchangeTime(payload: parameters.dataLength)
    byteLimit = max(2048, Int(packets) * parameters.dataLength)
  }

  deinit { timer?.cancel() }

  func send(_ pdu: RawSpan) throws(LinkError) -> SendOutcome {
    if let failure { throw failure }
    guard queue.count < countLimit, queue.byteCount < byteLimit else {
      wasFull = true
      return .wouldBlock
    }
    guard pdu.byteCount <= Int(UInt16.max) else { return try deliver(pdu) }
    queue.append(pdu)
    transmitter.add(length: pdu.byteCount, at: loop.refreshNow())
    if timer == nil { arm() }
    return .sent
  }

  /// Tells that a PDU of the peer has arrived.
  func received() { transmitter.received(at: loop.refreshNow()) }

  /// Delivers the PDUs that wait, before the link is closed, as a real link does. PDUs for which the
  /// socket has no room, after some hundred, are lost.
  func flush() {
    timer?.cancel()
    timer = nil
    while !queue.isEmpty, failure == nil {
      guard deliverFirst() else { return }
    }
  }

  private func arm() {
    guard let time = transmitter.nextArrival() else { return }
    wait(until: time)
  }

  private func wait(until time: Int64) {
    let delay = max(0, time - loop.refreshNow())
    timer = LoopTimer(after: .nanoseconds(delay), on: loop) { [weak self] in self?.fired() }
  }

  private func fired() {
    timer = nil
    while let time = transmitter.nextArrival() {
      let now = loop.refreshNow()
      guard time <= now else {
        wait(until: time)
        break
      }
      guard failure == nil else { return }
      guard deliverFirst() else {
        wait(until: now + transmitter.parameters.interval)
        break
      }
    }
    if wasFull, queue.count <= countLimit / 2, queue.byteCount <= byteLimit / 2 {
      wasFull = false
      whenWritable()
    }
  }

  /// False if the socket has no room now.
  private func deliverFirst() -> Bool {
    do throws(LinkError) {
      let outcome = try queue.withFirst { (pdu) throws(LinkError) in try deliver(pdu) }
      guard outcome == .sent else { return false }
    } catch {
      failure = error
      return false
    }
    queue.removeFirst()
    transmitter.removeFirst()
    return true
  }
}
