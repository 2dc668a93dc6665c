import ATT
import EventLoop
import Links

/// How well the link is protected, and those who wait for more.
extension ConnectionCore {
  var security: LinkSecurity { link.security }

  func raiseSecurity(to level: SecurityLevel) throws(AttoError) {
    do { try link.raiseSecurity(to: level) } catch { throw .link(error) }
  }

  /// Raises the link to a level and completes when it is reached, or cannot be in time.
  func raiseSecurity(
    to level: SecurityLevel, within time: Duration, _ completion: Completion<Void>
  ) {
    do throws(AttoError) {
      if let end { throw end }
      try raiseSecurity(to: level)
    } catch {
      return completion.resume(.failure(error))
    }
    guard link.security.level < level else {
      securityChanged()
      return completion.resume(.success(()))
    }
    let timer = OneTimer(after: time, on: loop) { [weak self] in
      self?.securityWaiters.removeAll { $0.completion === completion }
      completion.resume(.failure(.securityTimeout(level, after: time)))
    }
    securityWaiters.append((level, completion, timer))
    completion.whenCancelled = { [unowned self] in
      timer.cancel()
      securityWaiters.removeAll { $0.completion === completion }
    }
  }

  /// Looks at the link's level, and tells the server and those who wait.
  func securityChanged() {
    guard session.client != nil || !securityWaiters.isEmpty else { return }
    let security = link.security
    session.client?.security = security
    let waiting = securityWaiters
    securityWaiters = waiting.filter { $0.level > security.level }
    for waiter in waiting where waiter.level <= security.level {
      waiter.timer.cancel()
      waiter.completion.resume(.success(()))
    }
  }

  /// The connection has ended.
  func securityFails(_ error: AttoError) {
    let waiting = securityWaiters
    securityWaiters = []
    for waiter in waiting {
      waiter.timer.cancel()
      waiter.completion.resume(.failure(error))
    }
  }
}
