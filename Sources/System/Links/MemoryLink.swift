import AttoATT
import Glibc

/// One end of a link in memory, for tests and simulations in virtual time. Both ends belong to the
/// same executor.
///
/// Each end has a queue of fixed depth for PDUs to be received. Sending into a full queue would
/// block; when half of it is free again, the sender is notified that the link is writable.
///
/// Observers are called from within the call that makes the change. Calls do not nest: a change that
/// an observer makes is reported after it has returned, so that two ends which answer each other
/// immediately do not grow the stack.
package final class MemoryLink: Link {
  /// The longest PDU in octets: the limit of an L2CAP length field.
  package static let longestPDU = 65_535

  package let peerName: String
  package weak var observer: (any LinkObserver)?
  /// Set for a link that takes the place of an enhanced bearer.
  package var enhancedMTU: Int?
  private let shared: SharedEnds
  private let end: Int

  private init(_ shared: SharedEnds, end: Int, peerName: String) {
    self.shared = shared
    self.end = end
    self.peerName = peerName
  }

  /// Makes two connected ends, each with a queue of `capacity` PDUs.
  package static func pair(capacity: Int = 64) -> (MemoryLink, MemoryLink) {
    precondition(capacity > 0, "the capacity must be positive")
    let shared = SharedEnds(capacity: capacity)
    let first = MemoryLink(shared, end: 0, peerName: "the second end of a link in memory")
    let second = MemoryLink(shared, end: 1, peerName: "the first end of a link in memory")
    (shared.first, shared.second) = (first, second)
    return (first, second)
  }

  deinit { shared.close(end) }

  /// Always nil: the observer is called.
  package var descriptor: Int32? { nil }

  package func send(_ pdu: RawSpan) throws(LinkError) -> SendOutcome {
    guard !shared.closed[end] else { throw LinkError(.send, .closed, endpoint: peerName) }
    guard !shared.closed[1 - end] else {
      throw LinkError(.send, .system(EPIPE), endpoint: peerName)
    }
    guard pdu.byteCount <= MemoryLink.longestPDU else {
      throw LinkError(
        .send, .pduTooLong(length: pdu.byteCount, limit: MemoryLink.longestPDU),
        endpoint: peerName)
    }
    return shared.send(pdu, from: end)
  }

  package func receive(into buffer: inout OutputRawSpan) throws(LinkError) -> ReceiveOutcome {
    shared.receive(into: &buffer, at: end)
  }

  /// PDUs that this end has not received are dropped. Its peer can still receive PDUs sent before.
  package func close() { shared.close(end) }

  /// The security of both ends.
  package var security: LinkSecurity { shared.security }

  /// Succeeds at once, for both ends, and notifies both observers.
  package func raiseSecurity(to level: SecurityLevel) throws(LinkError) {
    guard !shared.closed[end], !shared.closed[1 - end] else {
      throw LinkError(.raiseSecurity, .closed, endpoint: peerName)
    }
    guard shared.security.level < level else { return }
    assume(LinkSecurity(level))
  }

  /// Sets ``security`` at both ends, and notifies both observers.
  package func assume(_ security: LinkSecurity) {
    guard shared.security != security else { return }
    shared.security = security
    shared.notify(0, .securityChanged)
    shared.notify(1, .securityChanged)
  }
}

/// The state that the two ends share.
private final class SharedEnds {
  weak var first: MemoryLink?
  weak var second: MemoryLink?
  var closed = [false, false]
  var security = LinkSecurity.low
  private let capacity: Int
  /// PDUs to be received at each end.
  private let queues = [Queue(), Queue()]
  /// Whether a PDU for each end was refused, so that its sender waits for room.
  private var starved = [false, false]
  /// Changes that have not been reported to the observer of each end.
  private var pending: [LinkReadiness] = [[], []]
  private var isNotifying = false
  /// The PDU that is being received.
  private var scratch: [UInt8] = []

  /// In a class, because an array cannot hold a queue.
  private final class Queue {
    var pdus = PDUQueue()
  }

  init(capacity: Int) { self.capacity = capacity }

  func send(_ pdu: RawSpan, from end: Int) -> SendOutcome {
    let peer = 1 - end
    guard queues[peer].pdus.count < capacity else {
      starved[peer] = true
      return .wouldBlock
    }
    queues[peer].pdus.append(pdu)
    notify(peer, .readable)
    return .sent
  }

  func receive(into buffer: inout OutputRawSpan, at end: Int) -> ReceiveOutcome {
    guard !closed[end] else { return .closed }
    let queue = queues[end]
    guard !queue.pdus.isEmpty else { return closed[1 - end] ? .closed : .wouldBlock }
    let room = buffer.freeCapacity
    queue.pdus.removeFirst(into: &scratch)
    let pdu = scratch
    let length = pdu.count
    buffer.append(fitting: pdu.span.bytes)
    if starved[end], queue.pdus.count <= capacity / 2 {
      starved[end] = false
      notify(1 - end, .writable)
    }
    return .pdu(truncatedFrom: length > room ? length : nil)
  }

  func close(_ end: Int) {
    guard !closed[end] else { return }
    closed[end] = true
    queues[end].pdus.removeAll()
    notify(1 - end, .closed)
  }

  /// Notifies the observer of an end; within a notification, after it.
  func notify(_ end: Int, _ readiness: LinkReadiness) {
    pending[end].formUnion(readiness)
    guard !isNotifying else { return }
    isNotifying = true
    defer { isNotifying = false }
    while let next = pending.firstIndex(where: { !$0.isEmpty }) {
      let readiness = pending[next]
      pending[next] = []
      let link = next == 0 ? first : second
      link?.observer?.linkReady(readiness)
    }
  }
}
