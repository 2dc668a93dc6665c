public import AttoATT
public import AttoLinks

/// A decorator over any link that injects faults, repeatably.
///
/// Each direction has its own ``Faults`` and its own random numbers, derived from one seed: the same
/// PDUs with the same seed meet the same faults. The faults are recorded, so that a failing test can
/// print them.
///
/// The time is that of the last ``advance(to:)``, or of `clock` if there is one. ``advance(to:)``,
/// to be called at ``deadline``, releases delayed PDUs. The observer is notified if that makes the
/// link readable or writable, even if the link below has a descriptor.
///
/// Limits: 1024 delayed PDUs in each direction, after which sending would block and nothing is
/// received from below; 10,000 records, after which faults are only counted in ``unrecorded``.
public final class FaultyLink: Link, LinkObserver {
  public weak var observer: (any LinkObserver)?
  /// The seed that determines the faults.
  public let seed: UInt64
  /// The faults so far, in order.
  public private(set) var records: [FaultRecord] = []
  /// The number of faults beyond those in `records`.
  public private(set) var unrecorded = 0
  /// The most faults that are recorded.
  public static let recordLimit = 10_000

  private let below: any Link
  private let clock: (() -> Instant)?
  private var time = Instant.zero
  private var outgoing: Lane
  private var incoming: Lane
  /// Whether a send would have blocked, here or in the link below.
  private var starved = false
  /// Whether PDUs are due but the link below has no room.
  private var blocked = false
  /// Whether a fault or the owner has ended the link, so that no further faults are injected.
  private var disconnected = false
  private var scratch: [UInt8] = []
  private let longestPDU: Int

  /// One direction.
  private struct Lane {
    let faults: Faults
    var random: SplitMix64
    var held = HeldPDUs()
    var count = 0
    /// The fate of a PDU that the link below refused. It is not drawn again when the PDU is retried.
    var undone: Fate?
  }

  /// Wraps a link, and becomes its observer.
  ///
  /// - Parameter longestPDU: the longest PDU that is received whole.
  public init(
    _ link: any Link, seed: UInt64, outgoing: Faults = Faults(), incoming: Faults = Faults(),
    clock: (() -> Instant)? = nil, longestPDU: Int = 65_535
  ) {
    self.longestPDU = longestPDU
    below = link
    self.seed = seed
    self.clock = clock
    var source = SplitMix64(seed: seed)
    self.outgoing = Lane(faults: outgoing, random: SplitMix64(seed: source.next()))
    self.incoming = Lane(faults: incoming, random: SplitMix64(seed: source.next()))
    link.observer = self
  }

  private var now: Instant {
    if let clock { time = max(time, clock()) }
    return time
  }

  public func send(_ pdu: RawSpan) throws(LinkError) -> SendOutcome {
    if !outgoing.held.isEmpty { try releaseOutgoing() }
    guard !outgoing.held.isFull else {
      starved = true
      return .wouldBlock
    }
    let length = pdu.byteCount
    if outgoing.undone == nil, isLast(&outgoing, .outgoing, length: length) {
      // The PDU is lost with the link.
      disconnect()
      observer?.linkReady(.closed)
      return .sent
    }
    let fate =
      outgoing.undone ?? outgoing.faults.fate(ofLength: length, using: &outgoing.random)
    if !fate.dropped {
      let cut = pdu.extracting(first: fate.cutTo ?? length)
      var copies = fate.copies
      if fate.delay == nil, outgoing.held.isEmpty {
        guard try below.send(cut) == .sent else {
          outgoing.undone = fate
          starved = true
          return .wouldBlock
        }
        copies -= 1
      }
      if copies > 0 {
        // An undelayed duplicate is sent at once, and held only if the link below has no room.
        let octets = cut.withUnsafeBytes { Array($0) }
        let release = now + (fate.delay ?? .zero)
        for _ in 0..<copies { outgoing.held.append(octets, until: release) }
        if fate.delay == nil { try releaseOutgoing() }
      }
    }
    outgoing.undone = nil
    record(fate, .outgoing, index: outgoing.count, length: length)
    outgoing.count += 1
    return .sent
  }

  public func receive(into buffer: inout OutputRawSpan) throws(LinkError) -> ReceiveOutcome {
    // The link below is drained first, so that its next PDU causes an event.
    var end: ReceiveOutcome?
    do throws(LinkError) {
      if !outgoing.held.isEmpty { try releaseOutgoing() }
      var fetched = 0
      while !incoming.held.isFull, end == nil {
        // PDUs that are due are delivered before more are fetched.
        if let first = incoming.held.first, first.release <= now { break }
        end = try fetch()
        fetched += 1
        if fetched == HeldPDUs.limit, end == nil {
          // All PDUs of a flood were dropped. Others get their turn before it continues.
          observer?.linkReady(.readable)
          break
        }
      }
    } catch {
      pendingFailure = error
    }
    if let first = incoming.held.first, first.release <= now {
      let room = buffer.freeCapacity
      buffer.append(fitting: first.pdu.span.bytes)
      incoming.held.removeFirst()
      let whole = first.truncatedFrom ?? first.pdu.count
      let truncated = first.truncatedFrom != nil || first.pdu.count > room
      return .pdu(truncatedFrom: truncated ? whole : nil)
    }
    // Held PDUs are delivered before the end.
    guard incoming.held.isEmpty else { return .wouldBlock }
    if let failure = pendingFailure {
      pendingFailure = nil
      throw failure
    }
    return end ?? .wouldBlock
  }

  /// An error from below, thrown after the PDUs received before it were delivered.
  private var pendingFailure: LinkError?

  /// Receives one PDU from below and holds it. Returns nil, or the outcome if there was no PDU.
  private func fetch() throws(LinkError) -> ReceiveOutcome? {
    if pendingFailure != nil { return .wouldBlock }
    if scratch.isEmpty { scratch = [UInt8](repeating: 0, count: longestPDU) }
    var length = 0
    var outcome = ReceiveOutcome.wouldBlock
    var failure: LinkError?
    let below = below
    scratch.withUnsafeMutableBytes { bytes in
      var output = OutputRawSpan(buffer: bytes, initializedCount: 0)
      do throws(LinkError) {
        outcome = try below.receive(into: &output)
      } catch {
        failure = error
      }
      length = output.finalize(for: bytes)
    }
    if let failure { throw failure }
    guard case .pdu(let truncatedFrom) = outcome else { return outcome }
    if isLast(&incoming, .incoming, length: length) {
      outgoing.held.removeAll()
      below.disconnect()
      return .closed
    }
    let fate = incoming.faults.fate(ofLength: length, using: &incoming.random)
    record(fate, .incoming, index: incoming.count, length: length)
    incoming.count += 1
    guard !fate.dropped else { return nil }
    let octets = Array(scratch[..<(fate.cutTo ?? length)])
    let release = now + (fate.delay ?? .zero)
    for _ in 0..<fate.copies {
      incoming.held.append(
        octets, truncatedFrom: fate.cutTo == nil ? truncatedFrom : nil, until: release)
    }
    return nil
  }

  /// Sends the PDUs that are due, until the link below has no room.
  private func releaseOutgoing() throws(LinkError) {
    let now = now
    while let first = outgoing.held.first, first.release <= now {
      blocked = try below.send(first.pdu.span.bytes) == .wouldBlock
      guard !blocked else { return }
      outgoing.held.removeFirst()
    }
    blocked = false
  }

  /// Whether the link ends with this PDU.
  private func isLast(
    _ lane: inout Lane, _ direction: FaultRecord.Direction, length: Int
  ) -> Bool {
    guard !disconnected, let limit = lane.faults.disconnectAfter, lane.count >= limit else {
      return false
    }
    disconnected = true
    add(
      FaultRecord(direction: direction, index: lane.count, length: length, fault: .disconnected))
    return true
  }

  private func record(
    _ fate: Fate, _ direction: FaultRecord.Direction, index: Int, length: Int
  ) {
    func add(_ fault: FaultRecord.Fault) {
      self.add(
        FaultRecord(direction: direction, index: index, length: length, fault: fault))
    }
    if fate.dropped { add(.dropped) }
    if let cutTo = fate.cutTo { add(.cut(to: cutTo)) }
    if fate.copies > 1 { add(.duplicated) }
    if let delay = fate.delay { add(.delayed(delay)) }
  }

  private func add(_ record: FaultRecord) {
    guard records.count < FaultyLink.recordLimit else {
      unrecorded += 1
      return
    }
    records.append(record)
  }

  // MARK: The rest of a link

  public var descriptor: Int32? { below.descriptor }
  public var security: LinkSecurity { below.security }
  public var maximumSecurity: SecurityLevel { below.maximumSecurity }
  public var peerName: String { below.peerName }
  public var phy: LinkPHY? { below.phy }

  public func setSendBuffer(_ octets: Int32) throws(LinkError) { try below.setSendBuffer(octets) }

  public func raiseSecurity(to level: SecurityLevel) throws(LinkError) {
    try below.raiseSecurity(to: level)
  }

  /// Ends the link at once. Held PDUs are lost.
  public func close() {
    outgoing.held.removeAll()
    incoming.held.removeAll()
    below.close()
  }

  public func disconnect() {
    outgoing.held.removeAll()
    incoming.held.removeAll()
    below.disconnect()
  }

  /// The time at which the first held PDU is due. PDUs that are due but found no room below are
  /// retried a millisecond later, since no event may report room.
  public var deadline: Instant? {
    var earliest = below.deadline
    func consider(_ moment: Instant?) {
      guard let moment, earliest.map({ moment < $0 }) ?? true else { return }
      earliest = moment
    }
    consider(blocked ? time + .milliseconds(1) : outgoing.held.first?.release)
    // PDUs that are already due wait for `receive`.
    if let release = incoming.held.first?.release, release > time { consider(release) }
    return earliest
  }

  public func advance(to now: Instant) {
    time = max(time, now)
    below.advance(to: time)
    var readiness: LinkReadiness = []
    do throws(LinkError) {
      try releaseOutgoing()
    } catch {
      // The link has ended, which the next `receive` reports.
      outgoing.held.removeAll()
      readiness.insert(.readable)
    }
    if starved, !outgoing.held.isFull {
      starved = false
      readiness.insert(.writable)
    }
    if let first = incoming.held.first, first.release <= time {
      readiness.insert(.readable)
    }
    if !readiness.isEmpty { observer?.linkReady(readiness) }
  }

  /// Called by the link below if it has no descriptor.
  public func linkReady(_ readiness: LinkReadiness) {
    if readiness.contains(.writable) { try? releaseOutgoing() }
    observer?.linkReady(readiness)
  }
}

extension FaultyLink: CustomStringConvertible {
  /// The seed and the faults so far, for a failing test to print.
  public var description: String {
    var lines = ["faults with seed \(seed):"]
    lines += records.map { "  \($0)" }
    if unrecorded > 0 { lines.append("  and \(unrecorded) more") }
    return lines.joined(separator: "\n")
  }
}
