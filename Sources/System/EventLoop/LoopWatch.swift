import CAttoLinux

/// Descriptors. Used on the loop's thread.
extension Loop {
  /// Watches a descriptor and holds the handler until ``unwatch(_:)``. The first report comes in the
  /// next turn if the descriptor is ready.
  ///
  /// The descriptor still belongs to the caller, who unwatches it before closing it. A descriptor
  /// can have one watch.
  ///
  /// Throws ``LoopError`` with EEXIST for a descriptor that is watched already, EPERM for a
  /// regular file with ``Trigger/edge``, EBADF, ENOSPC or ENOMEM.
  public func watch(
    _ descriptor: Int32, trigger: Trigger = .edge, _ handler: any ReadinessHandler
  ) throws(LoopError) -> WatchID {
    requireCurrent()
    let events =
      switch trigger {
      case .edge: CLINUX_EPOLLIN | CLINUX_EPOLLOUT | CLINUX_EPOLLRDHUP | CLINUX_EPOLLET
      case .level: CLINUX_EPOLLIN | CLINUX_EPOLLRDHUP
      }
    let id = watches.insert(descriptor, handler)
    let result = clinux_epoll_add(epoll, descriptor, events, id.token)
    if result == 0 { return id }
    _ = watches.remove(id)
    guard result == -EPERM, trigger == .level else {
      throw LoopError(.watch(descriptor: descriptor), errno: -result)
    }
    let always = watches.insert(descriptor, handler, always: true)
    mark(always, .readable)
    return always
  }

  /// Changes what a watch reports, and how, with a system call. The next poll reports what is ready
  /// then, even if an edge was reported before. Does nothing if the watch has ended or is one of a
  /// regular file.
  ///
  /// - Parameter readiness: `readable` (with `hangup` at a half-closed end), `writable`, both or
  ///   neither; a full hang-up and errors are always reported.
  public func setInterest(
    _ id: WatchID, _ readiness: Readiness, trigger: Trigger = .level
  ) {
    requireCurrent()
    guard let (descriptor, polled) = watches.descriptor(id), polled else { return }
    var events: UInt32 = trigger == .edge ? CLINUX_EPOLLET : 0
    if readiness.contains(.readable) { events |= CLINUX_EPOLLIN | CLINUX_EPOLLRDHUP }
    if readiness.contains(.writable) { events |= CLINUX_EPOLLOUT }
    // Fails only if the owner closed the descriptor first.
    _ = clinux_epoll_modify(epoll, descriptor, events, id.token)
  }

  /// Ends a watch: its handler is not called again, not even for readiness that was polled already.
  /// Does nothing if the watch has ended.
  public func unwatch(_ id: WatchID) {
    requireCurrent()
    guard let (descriptor, polled) = watches.remove(id), polled else { return }
    // Fails only if the owner closed the descriptor first, which ended the registration as well.
    _ = clinux_epoll_remove(epoll, descriptor)
  }

  /// Calls the handler again in the next turn, without a system call, so that a handler that has
  /// used up its share of this turn lets others go first. Does nothing if the watch has ended.
  public func reschedule(_ id: WatchID, _ readiness: Readiness) {
    requireCurrent()
    mark(id, readiness)
  }

  func mark(_ id: WatchID, _ readiness: Readiness) {
    if watches.mark(id, readiness) { ready.append(id) }
  }

  /// Reports what the poll has found, `count` of `events`, and what was rescheduled before. What is
  /// rescheduled now waits for the next turn.
  func deliver(_ count: Int32) {
    if !ready.isEmpty { Swift.swap(&ready, &delivering) }
    for index in 0..<count {
      let token = clinux_epoll_token(events, index)
      guard token < Loop.firstOwnToken else {
        if token == Loop.alarmToken { alarmHasRung() }
        continue
      }
      let readiness = Readiness(epoll: clinux_epoll_events(events, index))
      // A handler that was rescheduled gets both in one report.
      guard let handler = watches.handler(of: WatchID(token: token), readiness) else { continue }
      handler.ready(readiness)
      ended("\(type(of: handler)), whose descriptor was ready")
    }
    guard !delivering.isEmpty else { return }
    var index = 0
    while index < delivering.count {
      let id = delivering[index]
      index += 1
      guard let (handler, readiness, always) = watches.dequeue(id) else { continue }
      handler.ready(readiness)
      ended("\(type(of: handler)), which was rescheduled")
      if always { mark(id, .readable) }
    }
    delivering.clear()
  }
}
