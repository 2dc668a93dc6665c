import AttoATT
import AttoGATT

/// Two sessions that are connected in virtual time.
///
/// # Theory
///
/// Each end has a session and a list of PDUs that are on the way to it. `step` delivers the PDUs
/// that are due, in order of arrival. If none is due, it moves the clock to the next arrival or
/// deadline. So a wait of 30 s takes no time, and the same calls give the same run.
public final class Pair {
  /// The left end, the client of ``perform(_:)``.
  public let left: End
  /// The right end.
  public let right: End
  /// The virtual time.
  public private(set) var now = Instant.zero
  /// The time that a PDU takes to arrive.
  public var latency: Duration = .zero
  /// Every PDU that was sent, in order.
  public private(set) var trace: [TracedPDU] = []

  /// One side of the pair.
  public final class End {
    /// The session of this end.
    public let session: Session
    /// The actions of the session, in order, without those that are carried out here.
    public internal(set) var actions: [SessionAction] = []
    /// The notified and indicated values, in order.
    public internal(set) var values: [(handle: AttributeHandle, value: [UInt8])] = []
    /// Whether to confirm indications immediately.
    public var confirms = true
    /// Whether PDUs for this end are lost.
    public var isDeaf = false
    var arriving: [(at: Instant, pdu: [UInt8])] = []

    init(_ session: Session) { self.session = session }
  }

  /// A PDU that was sent.
  public struct TracedPDU: Equatable, Sendable {
    /// Whether the left end sent it.
    public let isFromLeft: Bool
    /// The octets.
    public let pdu: [UInt8]
    /// The time when it was sent.
    public let at: Instant
  }

  /// Connects two sessions at time zero.
  public init(left: Session, right: Session) {
    self.left = End(left)
    self.right = End(right)
  }

  /// Connects a client, on the left, to a server.
  public convenience init(
    server: Server, mtu: Int = 517, security: LinkSecurity = .low
  ) {
    let configuration = BearerConfiguration(receiveMTU: mtu)
    self.init(
      left: Session(configuration),
      right: Session(configuration, server: server, client: server.connect(security: security)))
  }

  /// Moves the PDUs from both outboxes onto the way.
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

  /// Delivers one PDU or moves the clock.
  ///
  /// - Returns: false if no PDU is on its way and there is no deadline, or the next one is after
  ///   `limit`.
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
      end.record(PDU(octets))
      if action == .indication, end.confirms { end.session.confirm() }
    default: end.actions.append(action)
    }
  }

  /// Runs until no PDU is on its way. Returns false if that takes more than `limit` steps.
  @discardableResult
  public func run(limit: Int = 1_000_000) -> Bool {
    for _ in 0..<limit {
      // Deadlines alone do not continue the run.
      collect()
      guard !left.arriving.isEmpty || !right.arriving.isEmpty else { return true }
      _ = step()
    }
    return false
  }

  /// Advances the time, with everything that happens meanwhile.
  public func wait(_ duration: Duration) {
    let end = now + duration
    while step(until: end) {}
    now = end
    for side in [left, right] {
      let action = side.session.advance(to: now)
      if action != .none { side.actions.append(action) }
    }
  }

  /// Ends the link for both ends.
  public func disconnect() {
    for end in [left, right] {
      end.arriving = []
      end.session.linkEnded()
    }
  }
}

extension Pair.End {
  /// Records the values of a notification or indication.
  func record(_ pdu: borrowing PDU) {
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
