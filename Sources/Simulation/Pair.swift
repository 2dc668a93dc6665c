import ATT
import GATT

/// Two sessions that talk to each other in virtual time.
///
/// # Theory
///
/// Each end has a session and a list of what is on its way to it. `step` delivers what is
/// due, in order of arrival, and moves the clock only when nothing is due now: to the next
/// arrival or the next deadline, whichever is earlier. So a wait of 30 s takes no time, and the
/// same calls give the same run.
public final class Pair {
  /// The end that connects.
  public let left: End
  /// The other end.
  public let right: End
  /// What the clock shows.
  public private(set) var now = Instant.zero
  /// How long a PDU is on its way.
  public var latency: Duration = .zero
  /// Every PDU that was sent, in order.
  public private(set) var trace: [TracedPDU] = []

  /// One side of the pair.
  public final class End {
    /// The end's bearer, client and server.
    public let session: Session
    /// What the session had its owner do, in order, but for what is done here.
    public internal(set) var actions: [SessionAction] = []
    /// Values that arrived unasked, in order.
    public internal(set) var values: [(handle: AttributeHandle, value: [UInt8])] = []
    /// Whether indications are confirmed at once.
    public var confirms = true
    /// Whether PDUs for this end are lost on their way.
    public var isDeaf = false
    var arriving: [(at: Instant, pdu: [UInt8])] = []

    init(_ session: Session) { self.session = session }
  }

  /// A PDU that has passed.
  public struct TracedPDU: Equatable, Sendable {
    /// Which way it went.
    public let isFromLeft: Bool
    /// The octets.
    public let pdu: [UInt8]
    /// When it was sent.
    public let at: Instant
  }

  /// Connects two sessions, at the beginning of time.
  public init(left: Session, right: Session) {
    self.left = End(left)
    self.right = End(right)
  }

  /// A client on the left, a server with this database on the right.
  public convenience init(
    server: Server, mtu: Int = 517, security: LinkSecurity = .low
  ) {
    let configuration = BearerConfiguration(receiveMTU: mtu)
    self.init(
      left: Session(configuration),
      right: Session(configuration, server: server, client: server.connect(security: security)))
  }

  /// Takes what both sessions want sent onto its way.
  private func collect() {
    for (end, other) in [(left, right), (right, left)] {
      while !end.session.bearer.outbox.isEmpty {
        var octets: [UInt8] = []
        end.session.bearer.outbox.removeFirst(into: &octets)
        trace.append(TracedPDU(isFromLeft: end === left, pdu: octets, at: now))
        if !other.isDeaf { other.arriving.append((now + latency, octets)) }
      }
    }
  }

  /// Delivers one PDU, or moves the clock. False when nothing is on its way and no deadline is
  /// set, or the next thing is later than `limit`.
  public func step(until limit: Instant = Instant(nanoseconds: .max)) -> Bool {
    collect()
    for end in [left, right] {
      guard let first = end.arriving.first, first.at <= now else { continue }
      end.arriving.removeFirst()
      deliver(first.pdu, to: end)
      return true
    }
    let moments =
      [left, right].flatMap { end in
        [end.arriving.first?.at, end.session.deadline].compactMap(\.self)
      }
    guard let next = moments.min(), next <= limit else { return false }
    now = max(now, next)
    for end in [left, right] {
      let action = end.session.advance(to: now)
      if action != .none { end.actions.append(action) }
    }
    return true
  }

  private func deliver(_ pdu: [UInt8], to end: End) {
    let octets = pdu.span.bytes
    let action = end.session.receive(octets, at: now)
    switch action {
    case .none: break
    case .notification, .notifications, .indication:
      end.take(PDU(octets))
      if action == .indication, end.confirms { end.session.confirm() }
    default: end.actions.append(action)
    }
  }

  /// Runs until nothing happens any more, or `limit` steps are done. False in the latter case.
  @discardableResult
  public func run(limit: Int = 1_000_000) -> Bool {
    for _ in 0..<limit {
      // A deadline alone is no reason to go on: something must be on its way.
      collect()
      guard !left.arriving.isEmpty || !right.arriving.isEmpty else { return true }
      _ = step()
    }
    return false
  }

  /// Lets time pass, with all that happens in it.
  public func wait(_ duration: Duration) {
    let end = now + duration
    while step(until: end) {}
    now = end
    for side in [left, right] {
      let action = side.session.advance(to: now)
      if action != .none { side.actions.append(action) }
    }
  }

  /// The link ends for both.
  public func disconnect() {
    for end in [left, right] {
      end.arriving = []
      end.session.linkEnded()
    }
  }
}

extension Pair.End {
  /// Keeps the values of a notification or indication.
  func take(_ pdu: borrowing PDU) {
    switch pdu {
    case .handleValueNotification(let pdu): values.append((pdu.handle, pdu.value.owned))
    case .handleValueIndication(let pdu): values.append((pdu.handle, pdu.value.owned))
    case .multipleHandleValueNotification(let pdu):
      var iterator = pdu.makeIterator()
      while let value = iterator.next() { values.append((value.handle, value.value.owned)) }
    default: break
    }
  }
}
