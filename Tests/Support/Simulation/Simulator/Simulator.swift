public import AttoATT
import AttoGATT

/// Simulates many clients and servers in virtual time, with faults, and checks every step.
///
/// # Theory
///
/// A run depends only on its ``SimulationPlan``: one random generator decides all actions and
/// faults. Each device has a server and is a client of the others, with both roles on one link. The
/// devices use the real sessions, servers, procedures and links. A `Judge` at each end and a
/// `ServerModel` beside each server know the expected behaviour. There is one thread and no clock:
/// the simulator serves an end that is ready, or moves the time to the next event.
///
/// A run has four phases: the actions of the plan; rest, until everything that was started has
/// ended; settlement, where informed clients discover again and are compared with the servers; and
/// the end of all links, after which nothing may be left.
public final class Simulator {
  /// The plan of the run.
  public let plan: SimulationPlan
  /// The generator of all decisions.
  package internal(set) var random: SplitMix64
  /// The virtual time.
  public private(set) var now = Instant.zero
  /// The number of steps so far.
  public private(set) var step = 0
  /// The first violation, or nil.
  public private(set) var violation: SimulationViolation?
  /// The transcript of the run, if it was requested.
  public private(set) var transcript: [String] = []
  /// The statistics so far.
  public private(set) var tally = SimulationTally()
  let keepsTranscript: Bool

  var devices: [Device] = []
  var connections: [Connection] = []
  var agenda = Agenda()
  var actionsLeft: Int
  var connectionCount = 0
  /// The maximum time between two actions of a device, in milliseconds.
  let pace: Int
  private var ended: [ObjectIdentifier] = []

  /// The maximum number of steps. A run that does not come to rest is an error.
  public static let stepLimit = 400_000

  /// Creates a run, optionally with a transcript of all PDUs.
  public init(_ plan: SimulationPlan, transcript: Bool = false) {
    self.plan = plan
    keepsTranscript = transcript
    random = SplitMix64(seed: plan.seed)
    pace = [3, 30, 300, 1000][random.below(4)]
    actionsLeft = plan.actions
  }

  /// Executes the run. Returns the violation, or nil.
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

  func count(_ event: SimulationTally.Event) { tally[event] += 1 }

  // MARK: Time

  private var liveEnds: [LinkEnd] {
    var ends: [LinkEnd] = []
    for connection in connections {
      for side in connection.sides { ends += side.open }
    }
    return ends
  }

  /// A random one of the ends that can be served. No list of them is made, for speed.
  private func someReadyEnd() -> LinkEnd? {
    func ready(at place: Int) -> (end: LinkEnd?, count: Int) {
      var count = 0
      for connection in connections {
        for side in connection.sides {
          for end in side.open where end.isReady {
            if count == place { return (end, count) }
            count += 1
          }
        }
      }
      return (nil, count)
    }
    let count = ready(at: -1).count
    return count > 0 ? ready(at: random.below(count)).end : nil
  }

  /// Runs until no event is due.
  private func rest() {
    while violation == nil {
      step += 1
      if step > Self.stepLimit {
        return fail("everything comes to rest", "not after \(step) steps")
      }
      if let end = someReadyEnd() {
        end.serve()
        continue
      }
      let ends = liveEnds
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
      while violation == nil, let event = agenda.removeFirst(until: now) { happen(event) }
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
      let side = late.end.side
      guard late.end.isUsable else {
        if !side.main.isClosed, side.group.answer(late.question.id, late.answer, at: now) != nil {
          late.end.fail("a dead bearer is silent", "it took the answer to \(late.question.kind)")
        }
        return
      }
      count(.lateAnswers)
      note { "\(late.end.name) is answered \(late.answer) to \(late.question.kind)" }
      late.end.device.application.note(late.answer, late.question, late.end)
      late.effect()
      late.end.perform {
        let session = side.group.answer(late.question.id, late.answer, at: now)
        if let session, session !== late.end.session {
          late.end.fail("responses on the bearer of their request", "\(late.question.kind)")
        }
      }
    case .lose(let connection):
      guard !connection.isOver else { return }
      count(.losses)
      note { "link \(connection.number) is lost" }
      connection.lose()
    case .close(let end):
      guard !end.isClosed else { return }
      count(.closedChannels)
      end.end()
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

  /// A random delay of up to this many milliseconds.
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

  // MARK: Checks of the whole run

  /// Checks that nothing is pending at rest.
  private func checkRest() {
    for end in liveEnds where end.isUsable {
      if let watch = end.side.operations.first {
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

  /// Lets clients that were informed of a change discover again, and compares the results.
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

/// Counts of events, which show that a run actually exercised its rules.
public struct SimulationTally: Sendable {
  /// An event that is counted.
  public enum Event: Sendable {
    case connections, losses
    /// Enhanced bearers, and those whose channel was closed or which failed alone.
    case bearers, closedChannels, deadBearers
    case procedures, cancels
    case notifications, indications
    /// Notifications refused because there was no room.
    case refusedNotifications
    /// Questions answered later.
    case lateAnswers
    case databaseChanges
    /// Databases of clients compared with that of the server.
    case comparisons
    /// PDUs that no client would send.
    case rawPDUs
  }

  private var counts: [Event: Int] = [:]

  /// Creates counts of zero.
  public init() {}

  /// How often an event has happened.
  public internal(set) subscript(event: Event) -> Int {
    get { counts[event] ?? 0 }
    set { counts[event] = newValue }
  }

  /// Adds the counts of another run.
  public mutating func add(_ other: SimulationTally) {
    counts.merge(other.counts, uniquingKeysWith: +)
  }
}

/// A rule that a run broke.
public struct SimulationViolation: Error, Sendable, CustomStringConvertible {
  /// The plan of the run.
  public let plan: SimulationPlan
  /// The step of the run.
  public let step: Int
  /// The rule, with the same text for all its violations.
  public let rule: String
  /// What happened instead.
  public let what: String

  public var description: String { "seed \(plan)\nstep \(step): \(rule)\n  \(what)" }
}
