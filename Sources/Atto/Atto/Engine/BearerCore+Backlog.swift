import AttoATT
import AttoGATT

/// Values for a client that takes them more slowly than others.
///
/// # Theory
/// A value for several clients is sent at once to those whose bearers have room, and kept for the
/// others (``ValueBacklog``), so that none waits for another. What is kept is sent, in order, when the
/// bearer has room; until then new values for that bearer queue behind it. A value is kept for a client
/// only if another one has taken it: while none has room the sender waits, and with one client nothing
/// is ever dropped.
extension BearerCore {
  /// Whether a value can be sent now: the bearer has room, and nothing is kept before it.
  var hasRoomForValues: Bool { backlog == nil && session.hasRoomForValues }

  /// Keeps a value until there is room.
  ///
  /// - Returns: whether an older value was dropped for it; nil if the client has lost its connection
  ///   instead.
  func keep(_ handle: AttributeHandle, _ value: RawSpan, within limits: ConnectionOptions.Backlog)
    -> Bool?
  {
    let backlog = backlog ?? ValueBacklog(limits)
    if limits.overflow == .disconnects, !backlog.fits(value) {
      if let client = session.client { server?.evict(client.id, .tooSlow(waiting: backlog.count)) }
      return nil
    }
    self.backlog = backlog
    awaitsRoom = true
    let untold = backlog.dropped
    guard backlog.append(handle, value) else { return false }
    server?.droppedValues += backlog.dropped - untold
    if !backlog.hasTold {
      backlog.hasTold = true
      tellDropped(backlog)
    }
    return true
  }

  /// The bearer may have room: sends what is kept, and resumes callers that wait.
  func noteRoom() {
    guard !isNotingRoom else { return }
    isNotingRoom = true
    defer { isNotingRoom = false }
    while let backlog, session.hasRoomForValues {
      backlog.drain { handle, value in
        // The client may have unsubscribed meanwhile.
        !session.deliveries(of: handle).contains(.notification) || session.notify(handle, value)
      }
      if backlog.isEmpty {
        self.backlog = nil
        tellDropped(backlog)
      }
      settle()
    }
    guard backlog == nil, session.hasRoom else { return }
    awaitsRoom = resumeWriters()
    if let client = session.client { server?.clientHasRoom(client.id) }
  }

  /// Reports how many values have been dropped since the last report.
  private func tellDropped(_ backlog: ValueBacklog) {
    let count = backlog.takeDropped()
    guard count > 0, let client = session.client else { return }
    server?.emit(.valuesDropped(client.id, peer: peerName, count: count))
  }

  /// The bearer has ended: returns what is kept.
  func takeBacklog() -> ValueBacklog? {
    guard let backlog else { return nil }
    self.backlog = nil
    tellDropped(backlog)
    return backlog
  }
}

extension ConnectionCore {
  /// Sends or keeps what an enhanced bearer had kept when it ended.
  func carry(_ backlog: ValueBacklog) {
    guard let limits = options.backlog else { return }
    backlog.drain { handle, value in
      let carrier = carrier(ofValues: handle)
      if !carrier.hasRoomForValues || !carrier.session.notify(handle, value) {
        _ = carrier.keep(handle, value, within: limits)
      }
      return true
    }
  }
}
