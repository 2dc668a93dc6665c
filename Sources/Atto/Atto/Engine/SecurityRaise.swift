import AttoATT
import AttoEventLoop
import AttoLinks
import AttoRadio

/// Raises the security of a connection's link.
///
/// # Theory
/// The link is raised because a caller asks for it (`waiters`), or because the peer refuses a
/// request for lack of security and the options allow a raise (`demand`). There is one raise at a
/// time: a refusal that comes while the link is being raised waits for that raise.
///
///     no demand --refused, a level is left--> demand --reached----> request repeated
///         |                                     |'----time is up--> request refused
///         '--refused, no level is left--> request refused  '--link ends--> everything ends
///
/// A refusal says that the link is not secure enough, not which level it needs. A level too many
/// costs a pairing that a person must attend to, so each step goes up one level. The first, to
/// `medium`, is enough where an earlier pairing has left a better key, because the kernel uses the
/// key it has; and an agent with a display or a keyboard is asked for an authenticated key anyway.
final class SecurityRaise {
  private let link: any Link
  private let highest: SecurityLevel
  private let stepTimeout: Duration
  /// Set by the connection when it is complete. Not weak, which would slow down every later count
  /// of references to the connection; it outlives this.
  unowned var core: ConnectionCore?
  /// Callers that wait for the link to reach a level.
  let waiters = WaiterList<SecurityLevel, Void, AttoError>()
  /// The raise that the peer's refusals have caused, and its end.
  private var demand: (level: SecurityLevel, timer: LoopTimer)?
  /// Why the link is not raised, while the requests that needed it are refused.
  private(set) var obstacle: SecurityObstacle?
  /// What the radio's agent can do; nil without an agent.
  var agentCapability: PairingCapability?
  private var knownLevel: SecurityLevel
  /// Whether the link has been asked for a level that it has not reached.
  @exclusivity(unchecked) private(set) var isActive = false
  /// Whether the link was being raised when it ended.
  private(set) var wasActiveAtEnd = false
  /// Whether the link asked for security when it was opened, and nobody has waited for it yet.
  private var isOpening: Bool
  /// A failure from that time.
  private var earlyFailure: AttoError?

  init(_ link: any Link, _ options: ConnectionOptions) {
    self.link = link
    highest = options.securityOnDemand ?? .low
    stepTimeout = options.securityTimeout
    isOpening = options.security > .low
    knownLevel = link.security.level
    waiters.whenOneLeft = { [unowned self] in update() }
  }

  private func update() {
    isActive = demand != nil || !waiters.isEmpty
    core?.adjustWatch()
  }

  private func setDemand(_ level: SecurityLevel, _ timer: LoopTimer) {
    demand = (level, timer)
    update()
  }

  private func endDemand() {
    demand?.timer.cancel()
    demand = nil
    update()
  }

  /// Asks the link for a level and does not wait.
  func begin(to level: SecurityLevel) throws(AttoError) {
    do throws(LinkError) { try link.raiseSecurity(to: level) } catch { throw .link(error) }
  }

  /// Raises the link to a level and resumes the waiter when that is reached, or cannot be in time.
  func raise(to level: SecurityLevel, within time: Duration, _ waiter: Waiter<Void, AttoError>) {
    do throws(AttoError) {
      if let end = core?.end { throw end }
      if let earlyFailure {
        core?.finish(earlyFailure)
        throw earlyFailure
      }
      isOpening = false
      try begin(to: level)
    } catch {
      return waiter.resume(.failure(error))
    }
    guard link.security.level < level else {
      levelMayHaveChanged()
      return waiter.resume(.success(()))
    }
    waiter.resume(.failure(.securityTimeout(level, after: time)), after: time)
    waiters.append(waiter, for: level)
    update()
  }

  /// Looks at the link's level, and reports it to the server and to callers that wait.
  func levelMayHaveChanged() {
    guard let core, core.session.client != nil || isActive else { return }
    let security = link.security
    core.session.client?.security = security
    if !waiters.isEmpty {
      waiters.resume(.success(())) { $0 <= security.level }
      update()
    }
    guard security.level > knownLevel else { return }
    knownLevel = security.level
    if let demand, demand.level <= security.level { endDemand() }
    core.securityRaised()
    core.settle()
  }

  /// The radio reports that pairing has failed. The kernel keeps a link when it has found by itself
  /// that the ends cannot pair, and its socket would wait for as long as the caller does.
  func pairingFailed(_ error: AttoError) {
    if isActive {
      core?.finish(error)
    } else if isOpening {
      earlyFailure = error
    }
  }

  /// The connection has ended. Callers that wait get its reason from the connection.
  func finish() {
    wasActiveAtEnd = isActive
    endDemand()
  }

  // MARK: On demand

  /// The peer has refused a request, which waits for a more secure link.
  func securityWanted() {
    // Links report a rise only when they get to it.
    levelMayHaveChanged()
    guard demand == nil, let core, core.insecureCount > 0 else { return }
    let level: SecurityLevel
    switch nextLevel() {
    case .success(let next): level = next
    case .failure(let obstacle): return refuse(obstacle)
    }
    // A caller that waits has asked the link already.
    if waiters.isEmpty {
      do throws(LinkError) {
        try link.raiseSecurity(to: level)
      } catch {
        return refuse(.failure(error))
      }
    }
    let time = stepTimeout
    let timer = LoopTimer(after: time, on: core.loop) { [weak self] in
      guard let self else { return }
      endDemand()
      refuse(.timeout(level, after: time, hasAgent: agentCapability != nil))
      self.core?.settle()
    }
    setDemand(level, timer)
    // Some links have the level at once.
    levelMayHaveChanged()
  }

  private func nextLevel() -> Result<SecurityLevel, SecurityObstacle> {
    let present = link.security.level
    guard let next = SecurityLevel(rawValue: present.rawValue + 1) else {
      return .failure(.highest)
    }
    if link.maximumSecurity < next { return .failure(.link(link.maximumSecurity)) }
    if highest < next { return .failure(.option(highest)) }
    // A link in the clear may still get an authenticated key from an earlier pairing.
    if present > .low, agentCapability == PairingCapability.none {
      return .failure(.noDisplayOrKeyboard)
    }
    return .success(next)
  }

  private func refuse(_ obstacle: SecurityObstacle) {
    guard let core else { return }
    self.obstacle = obstacle
    core.securityNotRaised()
    self.obstacle = nil
  }
}
