import CAttoLinux

/// Time. Used on the loop's thread.
extension Loop {
  /// The time in nanoseconds of CLOCK_MONOTONIC. It is read when first needed in a turn, and before
  /// timers fire, so it may be as old as the turn. See ``refreshNow()``.
  public var now: Int64 {
    requireCurrent()
    if !clockIsFresh { readClock() }
    return clock
  }

  /// Reads the clock again.
  @discardableResult public func refreshNow() -> Int64 {
    requireCurrent()
    readClock()
    return clock
  }

  /// Calls the handler once at a time of ``now``'s clock, or as soon after it as the kernel and the
  /// loop's other work allow (the kernel adds the thread's timer slack, 50 us); for a time in the
  /// past, in the next turn. The loop holds the handler until then. O(log n).
  @discardableResult public func schedule(
    at nanoseconds: Int64, _ handler: any TimerHandler
  ) -> TimerID {
    requireCurrent()
    return timers.schedule(at: nanoseconds, handler)
  }

  /// Ends a timer. Returns false if it has fired or was cancelled before. O(log n).
  @discardableResult public func cancel(_ timer: TimerID) -> Bool {
    requireCurrent()
    return timers.cancel(timer)
  }

  private func readClock() {
    clock = virtualTime?.now ?? clinux_monotonic()
    clockIsFresh = true
  }

  /// Fires the timers that are due. A timer scheduled meanwhile waits for the next turn, so that
  /// timers in the past cannot block the loop.
  ///
  /// If a timer is overdue, the loop has not run: its process was stopped, for example. What has arrived
  /// meanwhile may be what the timer watches for, so a poll after the deadline comes first.
  func fireTimers() {
    guard let deadline = timers.deadline, !isAlarmSet(for: deadline) else { return }
    readClock()
    let isOverdue = virtualTime == nil && deadline <= clock - Self.overdueTime
    let time = isOverdue ? timeBeforePoll : clock
    let sequence = timers.nextSequence
    while let (id, handler) = timers.dequeueDue(at: time, before: sequence) {
      handler.timerFired(id)
      ended("\(type(of: handler)), whose timer fired")
    }
  }

  // MARK: The alarm

  /// Whether the earliest deadline is left to the alarm, because it is far away. Sets the alarm if
  /// necessary.
  ///
  /// The clock may be as old as the turn, or older, which does no harm: the alarm is exact.
  func isLeftToAlarm(_ deadline: Int64) -> Bool {
    if isAlarmSet(for: deadline) { return true }
    guard deadline >= clock + farAway else { return false }
    if alarm < 0 { makeAlarm() }
    guard alarm >= 0, clinux_timerfd_set(alarm, deadline) == 0 else { return false }
    alarmTime = deadline
    return true
  }

  /// Whether the alarm will ring at a deadline that is far away, or before.
  private func isAlarmSet(for deadline: Int64) -> Bool {
    alarmTime <= deadline && deadline >= clock + farAway
  }

  /// Without a descriptor left there is no alarm, and timers bound the polls.
  private func makeAlarm() {
    let descriptor = clinux_timerfd()
    guard descriptor >= 0 else { return }
    let result = clinux_epoll_add(
      epoll, descriptor, CLINUX_EPOLLIN | CLINUX_EPOLLET, Loop.alarmToken)
    if result == 0 { alarm = descriptor } else { _ = close(descriptor) }
  }

  func alarmHasRung() { alarmTime = .max }
}
