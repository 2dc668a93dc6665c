public import ATT

/// One end of a link in memory: for tests and simulations in virtual time.
///
/// Each end has a queue of PDUs that wait to be received, of a fixed depth. Sending into a full
/// one would block; when half of it is free again the sender is told that it may write.
///
/// Observers are called from within the call that makes the change. Calls do not nest: what an
/// observer causes is told after it has returned, so that two ends which answer each other at
/// once do not grow the stack.
public final class MemoryLink: Link {
  /// Octets of the longest PDU: what an L2CAP length field can say.
  public static let longestPDU = 65_535

  public let peerName: String
  public weak var observer: (any LinkObserver)?
  private let wire: Wire
  private let end: Int

  private init(_ wire: Wire, end: Int, peerName: String) {
    self.wire = wire
    self.end = end
    self.peerName = peerName
  }

  /// Two connected ends, each with room for `capacity` PDUs that wait to be received.
  public static func pair(capacity: Int = 64) -> (MemoryLink, MemoryLink) {
    precondition(capacity > 0, "a link without room")
    let wire = Wire(capacity: capacity)
    let first = MemoryLink(wire, end: 0, peerName: "the second end of a link in memory")
    let second = MemoryLink(wire, end: 1, peerName: "the first end of a link in memory")
    wire.ends = (Weak(first), Weak(second))
    return (first, second)
  }

  deinit { wire.close(end) }

  /// None: the observer is called.
  public var descriptor: Int32? { nil }

  public func send(_ pdu: RawSpan) throws(LinkError) -> SendOutcome {
    guard !wire.closed[end] else { throw LinkError(.send, .closed, endpoint: peerName) }
    guard !wire.closed[1 - end] else { throw LinkError(.send, .peerClosed, endpoint: peerName) }
    guard pdu.byteCount <= MemoryLink.longestPDU else {
      throw LinkError(
        .send, .pduTooLong(length: pdu.byteCount, limit: MemoryLink.longestPDU),
        endpoint: peerName)
    }
    return wire.send(pdu, from: end)
  }

  public func receive(into buffer: inout OutputRawSpan) throws(LinkError) -> ReceiveOutcome {
    wire.receive(into: &buffer, at: end)
  }

  /// What this end has not received is dropped; what it has sent can still be received.
  public func close() { wire.close(end) }

  /// Shared by both ends.
  public var security: LinkSecurity { wire.security }

  /// Succeeds at once, for both ends, and tells both observers.
  public func raiseSecurity(to level: SecurityLevel) throws(LinkError) {
    guard !wire.closed[end], !wire.closed[1 - end] else {
      throw LinkError(.raiseSecurity, .closed, endpoint: peerName)
    }
    guard wire.security.level < level else { return }
    assume(LinkSecurity(level))
  }

  /// Sets what ``security`` says at both ends, and tells both observers.
  public func assume(_ security: LinkSecurity) {
    guard wire.security != security else { return }
    wire.security = security
    wire.tell(0, .securityChanged)
    wire.tell(1, .securityChanged)
  }
}

/// A reference that does not hold.
struct Weak {
  weak var link: MemoryLink?
  init(_ link: MemoryLink) { self.link = link }
}

/// What the two ends share.
final class Wire {
  var ends: (Weak, Weak)?
  var closed = [false, false]
  var security = LinkSecurity.low
  /// What waits to be received at each end.
  private var queues: [PDURing]
  /// Whether the sender to an end was refused and waits for room.
  private var starved = [false, false]
  private var told: [LinkReadiness] = [[], []]
  private var telling = false

  init(capacity: Int) {
    queues = [PDURing(capacity: capacity), PDURing(capacity: capacity)]
  }

  func send(_ pdu: RawSpan, from end: Int) -> SendOutcome {
    let peer = 1 - end
    guard queues[peer].append(pdu) else {
      starved[peer] = true
      return .wouldBlock
    }
    tell(peer, .readable)
    return .sent
  }

  func receive(into buffer: inout OutputRawSpan, at end: Int) -> ReceiveOutcome {
    guard !closed[end] else { return .closed }
    guard let outcome = queues[end].takeFirst(into: &buffer) else {
      return closed[1 - end] ? .closed : .wouldBlock
    }
    if starved[end], queues[end].count <= queues[end].capacity / 2 {
      starved[end] = false
      tell(1 - end, .writable)
    }
    return outcome
  }

  func close(_ end: Int) {
    guard !closed[end] else { return }
    closed[end] = true
    queues[end].removeAll()
    tell(1 - end, .closed)
  }

  /// Tells an end's observer; if a call is under way, after it.
  func tell(_ end: Int, _ readiness: LinkReadiness) {
    told[end].formUnion(readiness)
    guard !telling else { return }
    telling = true
    defer { telling = false }
    while let next = told.firstIndex(where: { !$0.isEmpty }) {
      let readiness = told[next]
      told[next] = []
      let link = next == 0 ? ends?.0.link : ends?.1.link
      link?.observer?.linkReady(readiness)
    }
  }
}
