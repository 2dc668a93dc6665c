import AttoATT
import AttoEventLoop
import AttoGATT
import AttoLinks
import AttoRadio

/// The enhanced bearers of a connection: a ``ConnectionCore`` for each, beside the one of the
/// unenhanced bearer.
///
/// # Theory
/// Each core receives from its link and sends on it as if it were alone. ``SessionGroup`` says which
/// session sends something; the core of that session then sends it. What the bearers share belongs
/// to the unenhanced one: consumers of values, the raise of the link's security, writers that wait
/// for room (on all bearers), the recorder of a bonded client, the timer of idle clients.
///
/// After each input to one core, ``settled(_:)`` lets the others send what it has made possible.
final class ConnectionBearers {
  unowned let main: ConnectionCore
  let group: SessionGroup
  @exclusivity(unchecked) private(set) var enhanced: [ConnectionCore] = []
  @exclusivity(unchecked) private var isSettling = false

  init(_ main: ConnectionCore) {
    self.main = main
    group = SessionGroup(main.session)
  }

  var all: [ConnectionCore] { [main] + enhanced }

  func others(than core: ConnectionCore) -> [ConnectionCore] { all.filter { $0 !== core } }

  func add(_ core: ConnectionCore) { enhanced.append(core) }

  /// Forgets an enhanced bearer that has ended; its procedures fail.
  func remove(_ core: ConnectionCore) {
    enhanced.removeAll { $0 === core }
    group.remove(core.session, at: main.now)
  }

  /// The connection ends, and all its bearers with it.
  func finish(_ error: AttoError) {
    let ended = enhanced
    enhanced = []
    group.linkEnded()
    for core in ended {
      core.bearers = nil
      core.finish(error)
    }
  }

  /// After an input to a core, which has sent what it has to send: lets the others send.
  func settled(_ core: ConnectionCore?) {
    guard !isSettling, !main.hasEnded else { return }
    isSettling = true
    defer { isSettling = false }
    group.pump(at: main.now)
    for other in all where !other.hasEnded {
      if other.session.hasOutput, !other.sender.isBlocked { other.settle() }
      if other !== core { other.resumeReading() }
    }
  }

  func memoryAnswered() {
    for core in enhanced where core.isAwaitingMemory { core.memoryAnswered() }
  }

  var haveRoom: Bool { all.allSatisfy { $0.session.hasRoom } }

  /// When the peer was heard last on any bearer.
  var lastHeard: Instant { enhanced.reduce(main.lastHeard) { max($0, $1.lastHeard) } }

  func answer(_ id: QuestionID, _ answer: LateAnswer) {
    guard let session = group.answer(id, answer, at: main.now) else { return }
    core(of: session).settle()
  }

  // MARK: Cores

  func core(forCommandsTo handle: AttributeHandle) -> ConnectionCore {
    core(of: group.session(forCommandsTo: handle))
  }

  func core(ofIndication id: TransactionID) -> ConnectionCore {
    core(of: group.session(ofIndication: id))
  }

  func core(of session: Session) -> ConnectionCore {
    enhanced.first { $0.session === session } ?? main
  }
}

extension ConnectionCore {
  /// The core on whose bearer the values of an attribute are sent.
  func carrier(ofValues handle: AttributeHandle) -> ConnectionCore {
    guard let bearers else { return self }
    return bearers.core(of: bearers.group.session(forValuesOf: handle))
  }

  /// The same for several values in one PDU; nil if they are sent on different bearers.
  func carrier(ofValues handles: [AttributeHandle]) -> ConnectionCore? {
    guard let bearers else { return self }
    return bearers.group.session(forValuesOf: handles).map(bearers.core)
  }

  /// Reads what may have become readable, unless the next poll reports it.
  func resumeReading() {
    if isReadable || !watch.reportsReading { read() }
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
    guard !hasEnded, main == nil, bearerCount < options.enhancedBearers,
      let mtu = link.enhancedMTU, mtu >= ConnectionOptions.minimumEnhancedMTU
    else { return link.close() }
    let bearers = bearers ?? ConnectionBearers(self)
    var configuration = options.bearer
    configuration.channel = .enhanced(mtu: min(mtu, options.channelMTU))
    guard let session = bearers.group.add(configuration, carriesProcedures: carryingProcedures)
    else { return link.close() }
    self.bearers = bearers
    let core = ConnectionCore(link, session, beside: self)
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
