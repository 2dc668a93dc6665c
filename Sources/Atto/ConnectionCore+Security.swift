import ATT
import EventLoop
import Links
import Radio

/// How well the link is protected, and those who wait for more.
///
/// # Theory
///
/// The link is raised because somebody asks (`securityWaiters`), or because the peer refuses a
/// request for want of security and the options allow to raise it (`demand`). There is one raise
/// at a time: a refusal that comes while the link is being raised waits for that.
///
///     no demand --refused, a level is left--> demand --reached----> request repeated
///         |                                     |'----time is up--> request refused
///         '--refused, no level is left--> request refused  '--link ends--> everything ends
///
/// Each step goes one level up. The first, to `medium`, is enough where an earlier pairing has
/// left a better key, since the kernel uses what it has; and an agent with a display or a
/// keyboard is asked for an authenticated key in any case.
extension ConnectionCore {
  var security: LinkSecurity { link.security }

  /// Whether the link has been asked for a level that it has not reached.
  var isRaising: Bool { demand != nil || !securityWaiters.isEmpty }

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
    guard session.client != nil || isRaising else { return }
    let security = link.security
    session.client?.security = security
    let waiting = securityWaiters
    securityWaiters = waiting.filter { $0.level > security.level }
    for waiter in waiting where waiter.level <= security.level {
      waiter.timer.cancel()
      waiter.completion.resume(.success(()))
    }
    guard security.level > knownLevel else { return }
    knownLevel = security.level
    if let demand, demand.level <= security.level {
      demand.timer.cancel()
      self.demand = nil
    }
    session.securityRaised(at: now)
    settle()
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

  // MARK: On demand

  /// The peer has refused a request, which waits for a better protected link.
  func securityWanted() {
    // The link is known to have risen only when it has told so.
    securityChanged()
    guard demand == nil, session.insecureCount > 0 else { return }
    let level: SecurityLevel
    switch nextLevel() {
    case .success(let next): level = next
    case .failure(let obstacle): return refuseInsecure(obstacle)
    }
    // Whoever else waits has asked the link already.
    if securityWaiters.isEmpty {
      do throws(LinkError) {
        try link.raiseSecurity(to: level)
      } catch {
        return refuseInsecure(.failure(error))
      }
    }
    let time = options.securityTimeout
    let timer = OneTimer(after: time, on: loop) { [weak self] in
      guard let self else { return }
      demand = nil
      refuseInsecure(.timeout(level, after: time, hasAgent: agentCapability != nil))
      settle()
    }
    demand = (level, timer)
    // Some links have the level at once.
    securityChanged()
  }

  private func nextLevel() -> Result<SecurityLevel, Refusal> {
    let present = link.security.level
    let highest = options.securityOnDemand ?? .low
    guard let next = SecurityLevel(rawValue: present.rawValue + 1) else {
      return .failure(Refusal(.highest))
    }
    if link.maximumSecurity < next { return .failure(Refusal(.link(link.maximumSecurity))) }
    if highest < next { return .failure(Refusal(.option(highest))) }
    // A link in the clear may still get an authenticated key from an earlier pairing.
    if present > .low, agentCapability == PairingCapability.none {
      return .failure(Refusal(.noDisplayOrKeyboard))
    }
    return .success(next)
  }

  private func refuseInsecure(_ obstacle: Refusal) { refuseInsecure(obstacle.obstacle) }

  private func refuseInsecure(_ obstacle: SecurityObstacle) {
    self.obstacle = obstacle
    session.securityNotRaised(at: now)
    self.obstacle = nil
  }

  private struct Refusal: Error {
    let obstacle: SecurityObstacle
    init(_ obstacle: SecurityObstacle) { self.obstacle = obstacle }
  }
}
