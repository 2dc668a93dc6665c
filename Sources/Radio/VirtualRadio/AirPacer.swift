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
///
/// Enhanced bearers share the air of their link. Their PDUs travel in K-frames, and the receiver
/// returns a credit for each, which takes a packet in its direction, as from Linux.
final class AirPacer {
  private let loop: Loop
  private let deliver: (RawSpan) throws(LinkError) -> SendOutcome
  private let whenWritable: () -> Void
  private var transmitter: Transmitter
  private var queue = PDUQueue()
  /// The destination of each PDU of the queue.
  private var destinations: [Destination] = []
  private var firstDestination = 0
  private var timer: LoopTimer?
  private var wasFull = false
  /// The error of a delivery, which the next ``send(_:)`` throws.
  private var failure: LinkError?
  private let countLimit: Int
  private let byteLimit: Int

  static let countLimit = 1024

  private enum Destination {
    case attChannel
    case bearer(AirBearer)
    /// A credit, which has no receiver here.
    case nothing
  }

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

  var interval: Int64 { transmitter.parameters.interval }

  /// The longest payload of a K-frame on a bearer.
  func mps(ofMTU mtu: Int) -> Int { transmitter.parameters.mps(ofMTU: mtu) }

  /// - Parameters:
  ///   - bearer: nil: the PDU is for the ATT channel.
  ///   - mps: the longest payload of a K-frame.
  func send(
    _ pdu: RawSpan, for bearer: AirBearer? = nil, mps: Int? = nil
  ) throws(LinkError) -> SendOutcome {
    if let failure { throw failure }
    guard queue.count < countLimit, queue.byteCount < byteLimit else {
      wasFull = true
      return .wouldBlock
    }
    guard pdu.byteCount <= Int(UInt16.max) else { return try deliver(pdu) }
    queue.append(pdu)
    destinations.append(bearer.map(Destination.bearer) ?? .attChannel)
    transmitter.add(length: pdu.byteCount, mps: mps, at: loop.refreshNow())
    if timer == nil { arm() }
    return .sent
  }

  /// A PDU of an enhanced bearer has arrived and was received.
  func returnCredit() {
    received()
    guard queue.count < countLimit else { return }
    queue.append([UInt8]().span.bytes)
    destinations.append(.nothing)
    transmitter.add(length: LinkParameters.creditLength, at: loop.refreshNow())
    if timer == nil { arm() }
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
    switch destinations[firstDestination] {
    case .attChannel:
      do throws(LinkError) {
        let outcome = try queue.withFirst { (pdu) throws(LinkError) in try deliver(pdu) }
        guard outcome == .sent else { return false }
      } catch {
        failure = error
        return false
      }
    case .bearer(let bearer): queue.withFirst { bearer.deliver($0) }
    case .nothing: break
    }
    queue.removeFirst()
    transmitter.removeFirst()
    destinations[firstDestination] = .nothing
    firstDestination += 1
    if firstDestination >= 64 || firstDestination == destinations.count {
      destinations.removeFirst(firstDestination)
      firstDestination = 0
    }
    return true
  }
}
