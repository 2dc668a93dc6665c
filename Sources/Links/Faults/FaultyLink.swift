public import ATT

/// A link on which things go wrong, on purpose and repeatably: a decorator over any link.
///
/// Each direction has its own ``Faults`` and its own random numbers, drawn from one seed; the
/// same PDUs with the same seed meet the same faults. What was done is recorded, for a failing
/// test to print.
///
/// Time is what ``advance(to:)`` last said, or what `clock` says if one is given. PDUs that are
/// held back are released by ``advance(to:)``, which wants to be called at ``deadline``; the
/// observer is told when that makes the link readable or writable, also if the link below has a
/// descriptor.
///
/// Limits: 1024 PDUs held back in each direction, then sending would block and nothing is
/// received from below; 10,000 records, then only ``unrecorded`` counts.
public final class FaultyLink: Link, LinkObserver {
  public weak var observer: (any LinkObserver)?
  /// What the faults follow from.
  public let seed: UInt64
  /// The faults so far, in the order of their happening.
  public private(set) var records: [FaultRecord] = []
  /// Faults that found no more room in `records`.
  public private(set) var unrecorded = 0
  /// Faults that are recorded; more are counted.
  public static let recordLimit = 10_000

  private let below: any Link
  private let clock: (() -> Instant)?
  private var time = Instant.zero
  private var outgoing: Lane
  private var incoming: Lane
  /// The sender was refused, by us or by the link below.
  private var starved = false
  /// What is due to be sent finds no room below.
  private var blocked = false
  /// Ended by a fault or by the owner; no further faults.
  private var disconnected = false
  private var scratch: [UInt8] = []

  /// One direction.
  private struct Lane {
    let faults: Faults
    var random: SplitMix64
    var held = HeldPDUs()
    var count = 0
    /// The fate of a PDU that the link below refused: it is not drawn again when it comes back.
    var undone: Fate?
  }

  /// Wraps a link, and becomes its observer.
  public init(
    _ link: any Link, seed: UInt64, outgoing: Faults = Faults(), incoming: Faults = Faults(),
    clock: (() -> Instant)? = nil
  ) {
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
      // The PDU is lost with the link: it left, and never arrived.
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
        // A duplicate that goes at once is tried at once, and kept only if it must be.
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
    // The link below is emptied first, so that its next PDU makes an event again.
    var end: ReceiveOutcome?
    do throws(LinkError) {
      if !outgoing.held.isEmpty { try releaseOutgoing() }
      var fetched = 0
      while !incoming.held.isFull, end == nil {
        // In order: what is due goes up before more is fetched.
        if let first = incoming.held.first, first.release <= now { break }
        end = try fetch()
        fetched += 1
        if fetched == HeldPDUs.limit, end == nil {
          // A flood of which nothing is left: others first, and then again.
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
    // What is held back is still to come before the end is.
    guard incoming.held.isEmpty else { return .wouldBlock }
    if let failure = pendingFailure {
      pendingFailure = nil
      throw failure
    }
    return end ?? .wouldBlock
  }

  /// An error from below that waits until what came before it has gone up.
  private var pendingFailure: LinkError?

  /// Fetches one PDU from below into what is held; else what the link below said.
  private func fetch() throws(LinkError) -> ReceiveOutcome? {
    if pendingFailure != nil { return .wouldBlock }
    if scratch.isEmpty { scratch = [UInt8](repeating: 0, count: MemoryLink.longestPDU) }
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

  /// Sends what is due. Stops, and is called again, when the link below is full.
  private func releaseOutgoing() throws(LinkError) {
    let now = now
    while let first = outgoing.held.first, first.release <= now {
      blocked = try below.send(first.pdu.span.bytes) == .wouldBlock
      guard !blocked else { return }
      outgoing.held.removeFirst()
    }
    blocked = false
  }

  /// Whether the link is to end with this PDU.
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

  /// Ends the link at once; what is held back is lost.
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

  /// The earliest moment at which something that is held back falls due. What is due but finds
  /// no room below is tried again a millisecond later, since nobody may tell us of room.
  public var deadline: Instant? {
    var earliest = below.deadline
    func consider(_ moment: Instant?) {
      guard let moment, earliest.map({ moment < $0 }) ?? true else { return }
      earliest = moment
    }
    consider(blocked ? time + .milliseconds(1) : outgoing.held.first?.release)
    // What is due already waits for `receive`, not for time.
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
      // The link has ended, and says so itself when it is read.
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

  /// From the link below, if it has no descriptor.
  public func linkReady(_ readiness: LinkReadiness) {
    if readiness.contains(.writable) { try? releaseOutgoing() }
    observer?.linkReady(readiness)
  }
}

/// For a failing test: the seed, and what was done.
extension FaultyLink: CustomStringConvertible {
  public var description: String {
    var lines = ["faults with seed \(seed):"]
    lines += records.map { "  \($0)" }
    if unrecorded > 0 { lines.append("  and \(unrecorded) more") }
    return lines.joined(separator: "\n")
  }
}
