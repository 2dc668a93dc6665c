import AttoATT
import AttoGATT

/// The bearers of a connection that has, or has had, enhanced ones.
///
/// # Theory
/// Each core receives from its link and sends on it as if it were alone. ``SessionGroup`` says which
/// session sends something; the core of that session then sends it.
///
/// After each input to one core, ``settled(_:)`` lets the others send what it has made possible.
final class ConnectionBearers {
  unowned let main: ConnectionCore
  let group: SessionGroup
  @exclusivity(unchecked) private(set) var enhanced: [EnhancedBearerCore] = []
  @exclusivity(unchecked) private var isSettling = false

  init(_ main: ConnectionCore) {
    self.main = main
    group = SessionGroup(main.session)
  }

  var all: [BearerCore] { [main] + enhanced }

  func add(_ core: EnhancedBearerCore) { enhanced.append(core) }

  /// Forgets an enhanced bearer that has ended; its procedures fail.
  func remove(_ core: EnhancedBearerCore) {
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
  func settled(_ core: BearerCore?) {
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

  func core(forCommandsTo handle: AttributeHandle) -> BearerCore {
    core(of: group.session(forCommandsTo: handle))
  }

  func core(ofIndication id: TransactionID) -> BearerCore {
    core(of: group.session(ofIndication: id))
  }

  func core(of session: Session) -> BearerCore {
    enhanced.first { $0.session === session } ?? main
  }
}
