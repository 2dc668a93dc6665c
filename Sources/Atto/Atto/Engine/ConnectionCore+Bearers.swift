import AttoATT
import AttoGATT
import AttoLinks
import AttoRadio

/// The bearers of the connection, and the security of its link.
extension ConnectionCore {
  /// The core on whose bearer the values of an attribute are sent.
  func carrier(ofValues handle: AttributeHandle) -> BearerCore {
    guard let bearers else { return self }
    return bearers.core(of: bearers.group.session(forValuesOf: handle))
  }

  /// The same for several values in one PDU; nil if they are sent on different bearers.
  func carrier(ofValues handles: [AttributeHandle]) -> BearerCore? {
    guard let bearers else { return self }
    return bearers.group.session(forValuesOf: handles).map(bearers.core)
  }

  // MARK: Security

  private var sessions: [Session] { bearers?.group.all ?? [session] }

  /// The number of operations that wait for a more secure link.
  var insecureCount: Int { sessions.reduce(0) { $0 + $1.insecureCount } }

  func securityRaised() { for session in sessions { session.securityRaised(at: now) } }

  func securityNotRaised() { for session in sessions { session.securityNotRaised(at: now) } }

  // MARK: Opening and accepting

  /// The number of open enhanced bearers.
  var bearerCount: Int { bearers?.enhanced.count ?? 0 }

  /// Takes over the channel of an enhanced bearer, which is closed if it is not suitable.
  func addBearer(_ link: any Link, carryingProcedures: Bool) {
    guard !hasEnded, bearerCount < options.enhancedBearers,
      let mtu = link.enhancedMTU, mtu >= ConnectionOptions.minimumEnhancedMTU
    else { return link.close() }
    let bearers = bearers ?? ConnectionBearers(self)
    var configuration = options.bearer
    configuration.channel = .enhanced(mtu: min(mtu, options.channelMTU))
    guard let session = bearers.group.add(configuration, carriesProcedures: carryingProcedures)
    else { return link.close() }
    self.bearers = bearers
    let core = EnhancedBearerCore(link, session, of: self)
    bearers.add(core)
    if isAwaitingMemory { core.awaitMemory() }
    do throws(AttoError) {
      try core.open()
    } catch {
      core.finish(error)
    }
  }

  /// Accepts the channels that the peer opens, as many as the options allow.
  func acceptBearers(carryingProcedures: Bool) {
    do throws(RadioError) {
      bearerAcceptance = try options.bearerSource.accept(
        link, options.enhancedBearers, options.channelMTU, loop
      ) { [weak self] link in
        guard let self else { return link.close() }
        addBearer(link, carryingProcedures: carryingProcedures || carriesPeersBearers)
      }
    } catch {
      bearerObstacle = .radio(error)
    }
  }
}
