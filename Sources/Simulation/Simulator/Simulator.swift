public import ATT
import GATT
public import Links

/// Many clients and servers in virtual time, with everything that can happen to them, judged at
/// every step.
///
/// # Theory
///
/// A run is a function of its ``SimulationPlan``: one generator decides what is done, by whom and
/// when, and what goes wrong. Devices have a server for all who connect and are clients of each
/// other, both roles on one link. They use the real sessions, servers, procedures and links; a
/// ``Judge`` at each end and a ``ServerModel`` beside each server say at every step what ought to
/// have happened. There is one thread and no clock: an end that is ready is served, or time moves
/// to the next moment at which something is due.
///
/// A run has four parts: actions, as many as the plan says; rest, in which all that was begun ends;
/// settlement, in which clients that have been told of a change look again and are compared with
/// the servers; and the end of all links, after which nothing may be left.
public final class Simulator {
  /// What is simulated.
  public let plan: SimulationPlan
  /// What decides; the next number is the next decision.
  public internal(set) var random: SplitMix64
  /// The virtual moment.
  public private(set) var now = Instant.zero
  /// How many things have happened.
  public private(set) var step = 0
  /// What went wrong first.
  public private(set) var violation: SimulationViolation?
  /// What happened, line by line, if it was asked for.
  public private(set) var transcript: [String] = []
  /// What has happened so far.
  public private(set) var tally = SimulationTally()
  let keepsTranscript: Bool

  var devices: [Device] = []
  var connections: [Connection] = []
  var agenda = Agenda()
  var actionsLeft: Int
  var connectionCount = 0
  /// Milliseconds between what a device does and what it does next, at most.
  let pace: Int
  private var ended: [ObjectIdentifier] = []

  /// More than any run needs: one that does not come to rest is an error.
  public static let stepLimit = 400_000

  /// Begins a run; with a transcript, each octet is written down.
  public init(_ plan: SimulationPlan, transcript: Bool = false) {
    self.plan = plan
    keepsTranscript = transcript
    random = SplitMix64(seed: plan.seed)
    pace = [3, 30, 300, 1000][random.below(4)]
    actionsLeft = plan.actions
  }

  /// Carries out the run; nil if all was well.
  public func run() -> SimulationViolation? {
    begin()
    rest()
    guard violation == nil else { return violation }
    checkRest()
    settle()
    guard violation == nil else { return violation }
    finish()
    return violation
  }

  func fail(_ rule: String, _ what: String) {
    guard violation == nil else { return }
    note { "BROKEN \(rule): \(what)" }
    violation = SimulationViolation(plan: plan, step: step, rule: rule, what: what)
  }

  func note(_ line: () -> String) {
    guard keepsTranscript else { return }
    let time = (now - .zero).components
    let milliseconds = time.seconds * 1000 + time.attoseconds / 1_000_000_000_000_000
    transcript.append("\(step)\t\(milliseconds) ms\t\(line())")
  }

  func count(_ path: WritableKeyPath<SimulationTally, Int>, _ number: Int = 1) {
    tally[keyPath: path] += number
  }

  // MARK: Time

  private var liveEnds: [LinkEnd] {
    var ends: [LinkEnd] = []
    for connection in connections {
      for (a, b) in connection.bearers {
        if !a.isClosed { ends.append(a) }
        if !b.isClosed { ends.append(b) }
      }
    }
    return ends
  }

  /// Lets things happen until nothing is due any more.
  private func rest() {
    while violation == nil {
      step += 1
      if step > Self.stepLimit {
        return fail("everything comes to rest", "not after \(step) steps")
      }
      let ends = liveEnds
      let ready = ends.filter(\.isReady)
      if !ready.isEmpty {
        ready[random.below(ready.count)].serve()
        continue
      }
      if connections.contains(where: \.isOver) {
        connections.removeAll(where: \.isOver)
        for device in devices { device.connections.removeAll(where: \.isOver) }
      }
      var next = agenda.first
      for end in ends {
        guard let deadline = end.deadline else { continue }
        next = next.map { min($0, deadline) } ?? deadline
      }
      guard let next else { return }
      now = max(now, next)
      for end in ends { end.advance() }
      while violation == nil, let event = agenda.takeFirst(until: now) { happen(event) }
    }
  }

  private func happen(_ event: Agenda.Event) {
    step += 1
    switch event {
    case .act(let device):
      guard actionsLeft > 0 else { return }
      actionsLeft -= 1
      act(device)
      if actionsLeft > 0 { agenda.add(.act(device), at: now + someDelay(pace)) }
    case .answer(let late):
      guard late.end.isUsable else { return }
      count(\.lateAnswers)
      note { "\(late.end.name) is answered \(late.answer) to \(late.question.kind)" }
      late.end.device.application.note(late.answer, late.question, late.end)
      late.effect()
      late.end.call {
        late.end.session.answer(late.question.id, late.answer, at: now)
        return .none
      }
    case .lose(let connection):
      guard !connection.isOver else { return }
      count(\.losses)
      note { "link \(connection.number) is lost" }
      connection.lose()
    case .resume(let end): end.isPaused = false
    }
  }

  func answerLater(
    _ id: QuestionID, _ answer: LateAnswer, _ end: LinkEnd, _ question: Question,
    _ effect: @escaping () -> Void
  ) {
    let isTooLate = random.chance(0.01)
    let delay: Duration = isTooLate ? .seconds(29) + someDelay(2000) : someDelay(400)
    agenda.add(
      .answer(.init(question: question, answer: answer, end: end, effect: effect)),
      at: now + delay)
  }

  /// Up to so many milliseconds.
  func someDelay(_ milliseconds: Int) -> Duration {
    .microseconds(random.below(milliseconds * 1000 + 1))
  }

  func someOctets(_ most: Int) -> [UInt8] {
    let lengths = [0, 1, 2, 18, 19, 20, 21, 22, 23, 60, 253, 300, 512, 513]
    let length =
      random.chance(0.6) ? random.below(24) : lengths[random.below(lengths.count)]
    let first = UInt8(truncatingIfNeeded: random.next())
    return (0..<min(length, most)).map { first &+ UInt8(truncatingIfNeeded: $0) }
  }

  func hasEnded(_ watch: OperationWatch) { count(\.procedures) }

  // MARK: Judging the whole

  /// At rest, nothing is owed to anybody.
  private func checkRest() {
    for end in liveEnds where end.isUsable {
      if let watch = end.operations.first {
        end.fail("every procedure ends", "\(watch.name) has not")
      }
      if !end.judge.owesNothing { end.fail("every request is answered", "one is not") }
      if end.judge.isWaiting, !end.device.isRogue {
        end.fail("every request is answered", "at rest, one is awaited")
      }
      if !end.judge.indications.isEmpty, !(end.judge.client?.isOutOfSync ?? false) {
        end.fail("notifications in order, none lost, none doubled", "an indication has stayed")
      }
      if end.judge.indications.isEmpty, !end.openIndications.isEmpty {
        end.fail("every indication is confirmed", "one is not")
      }
      if let client = end.judge.client, let model = end.device.model, client.changed != nil,
        model.serviceChangedHandle(for: client) != nil
      {
        end.fail("Service Changed tells what has changed", "it is owed, and is not sent")
      }
    }
    for device in devices {
      guard let server = device.server, let model = device.model else { continue }
      for row in model.rows {
        switch row.kind {
        case .constant(let value), .stored(let value, _):
          if server.database.value(of: AttributeHandle(row.handle)) != value {
            fail("values are what was written", "\(device.name) \(AttributeHandle(row.handle))")
          }
        default: break
        }
      }
      if server.preparedByteCount != model.preparedBytes {
        fail("prepared writes are all or nothing", "\(device.name): octets are left over")
      }
    }
  }

  /// Clients that can know that a database has changed look again, and must see what there is.
  private func settle() {
    for _ in 0..<3 {
      for end in liveEnds where end.isUsable && end.index == 0 && end.connection.isTrusted {
        lookAgain(end)
      }
      rest()
      guard violation == nil else { return }
    }
    checkRest()
    for end in liveEnds where end.isUsable && end.index == 0 && end.connection.isTrusted {
      compare(end)
    }
  }

  private func finish() {
    for connection in connections { connection.lose() }
    for device in devices {
      guard let server = device.server else { continue }
      if !server.clients.isEmpty || server.preparedByteCount != 0 {
        fail("nothing is left of clients that have gone", device.name)
      }
      if !device.connections.allSatisfy(\.isOver) {
        fail("every link ends", device.name)
      }
    }
  }
}

/// How often what happened: that a rule was kept proves little if it was never tried.
public struct SimulationTally: Sendable {
  /// Procedures that were begun.
  public var procedures = 0
  /// Procedures that had a result.
  public var successes = 0
  /// Notifications that arrived.
  public var notifications = 0
  /// Notifications for which a link had no room.
  public var refusedNotifications = 0
  /// Indications that were confirmed.
  public var indications = 0
  /// Questions that were answered later.
  public var lateAnswers = 0
  /// Links that were lost.
  public var losses = 0
  /// Procedures that were cancelled.
  public var cancels = 0
  /// Services that were added or removed.
  public var databaseChanges = 0
  /// Responses that the second server was compared on.
  public var comparisons = 0
  /// Links that came to stand.
  public var connections = 0
  /// PDUs that no client would send.
  public var rawPDUs = 0

  /// Nothing has happened.
  public init() {}

  /// Adds the figures of another run.
  public mutating func add(_ other: SimulationTally) {
    procedures += other.procedures
    successes += other.successes
    notifications += other.notifications
    refusedNotifications += other.refusedNotifications
    indications += other.indications
    lateAnswers += other.lateAnswers
    losses += other.losses
    cancels += other.cancels
    databaseChanges += other.databaseChanges
    comparisons += other.comparisons
    connections += other.connections
    rawPDUs += other.rawPDUs
  }
}

/// A rule that a run broke.
public struct SimulationViolation: Error, Sendable, CustomStringConvertible {
  /// The run.
  public let plan: SimulationPlan
  /// At which step of the run.
  public let step: Int
  /// The rule, in the words that all violations of it share.
  public let rule: String
  /// What happened instead.
  public let what: String

  public var description: String { "seed \(plan)\nstep \(step): \(rule)\n  \(what)" }
}
