import ATT
import EventLoop
import Links
import LinkTiming

/// Holds back what is sent over a link on the virtual air until it would have arrived on a real
/// one. One at each end, for what that end sends; the loop's thread only.
///
/// # Theory
/// A ``Transmitter`` says when each PDU arrives; a timer gives it to the socket then. Its clock is
/// the loop's, CLOCK_MONOTONIC, which both ends of the link share: so they have the same anchors
/// without a word. A timer that fires late delivers late, but the transmitter goes on in its own
/// time, so that nothing is lost in the rate.
///
/// As much waits as two intervals carry; then sending would block, until half of it has gone. If
/// the peer does not take what arrives, the rest is held and tried again each interval.
final class AirPacer {
  private let loop: Loop
  private let deliver: (RawSpan) throws(LinkError) -> SendOutcome
  private let whenWritable: () -> Void
  private var transmitter: Transmitter
  private var queue = PDUQueue()
  private var timer: OneTimer?
  private var wasFull = false
  /// What went wrong when something was delivered; told to whoever sends next.
  private var failure: LinkError?
  private let countLimit: Int
  private let byteLimit: Int

  /// PDUs that wait at most, whatever the interval.
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

  /// Delivers what waits, before the link is closed: the end of a real one waits for what was sent
  /// before it. What the socket has no room for, some hundred PDUs, is lost with the link.
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
    timer = OneTimer(after: .nanoseconds(delay), on: loop) { [weak self] in self?.fired() }
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

  /// False if the peer takes nothing now.
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
