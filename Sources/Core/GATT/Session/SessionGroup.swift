import AttoATT

/// The sessions of one connection with enhanced bearers: one on the unenhanced bearer and one on
/// each enhanced bearer. Vol 3, Part F, 3.2.11 and Part G, 5.3.
///
/// # Theory
///
/// Each bearer is a session with its own ATT_MTU, requests, indications and deadlines. The sessions
/// share the ``ServerClient``: one prepare queue, one set of configurations, one awareness of the
/// database. This type decides which session sends something:
///
/// - The MTU exchange and signed writes exist on the unenhanced bearer only.
/// - A procedure runs on the bearer with the fewest procedures, among those whose ATT_MTU is not less
///   than that of the unenhanced bearer: so what fits there fits anywhere. Enhanced bearers are
///   preferred, because they have flow control.
/// - A procedure that accesses a value after another one that may conflict (``Footprint``) runs on
///   the same bearer, behind it. If there are such procedures on several bearers, it waits here.
/// - Procedures that prepare writes run on one bearer, one after another, because the server has one
///   queue for the client. If that bearer ends, the queue is dropped on another bearer before the
///   next such procedure.
/// - The Database Hash is read when no other request is pending, and other procedures wait for its
///   response, because the server takes the next request for one of a client that knows the hash
///   (Vol 3, Part G, 2.5.2.1).
/// - Write commands to one attribute stay on one bearer, and so do the notifications and indications
///   of one attribute. An attribute gets the bearer with the fewest attributes, and a new one if its
///   bearer ends, or has become too small because ATT_MTU of the unenhanced one was exchanged.
/// - A procedure that accesses an attribute with commands runs on their bearer, behind them. If it
///   accesses several, it runs behind those to the first one.
/// - A procedure that was cancelled in flight counts as running until its response arrives, because
///   the server may still execute it.
/// - Values that the client had configured before the first enhanced bearer stay on the unenhanced
///   one, on which earlier values may still be on their way.
///
/// An enhanced bearer ends alone: by a timeout (Vol 3, Part F, 3.3.3), a violation, or its channel's
/// end. Its procedures fail with ``ProcedureError/enhancedBearer(_:)``. The end of the unenhanced
/// bearer ends the connection.
///
/// # Use
///
/// Pass PDUs and the time to the session of their bearer, then call ``pump(at:)``. After that, any
/// session may have PDUs to send. When a session fails or its channel ends, call
/// ``remove(_:at:)``.
public final class SessionGroup {
  /// The session of the unenhanced bearer.
  public let main: Session
  /// The sessions of the enhanced bearers, in the order in which they were added.
  @exclusivity(unchecked) public private(set) var enhanced: [Session] = []

  @exclusivity(unchecked) private var commands = HandleAssignments()
  @exclusivity(unchecked) private var values = HandleAssignments()
  /// The descriptors that the client had configured before the first enhanced bearer.
  @exclusivity(unchecked) private var configuredBefore: [AttributeHandle] = []
  @exclusivity(unchecked) private var waiting: [(id: TransactionID, operation: ClientOperation)] =
    []
  @exclusivity(unchecked) private var isPumping = false

  /// Creates a group without enhanced bearers.
  public init(_ main: Session) { self.main = main }

  /// The most enhanced bearers that a connection may have one after another.
  public static let limit = 255
  private var nextNumber: UInt8 = 1

  /// Adds an enhanced bearer.
  ///
  /// - Parameters:
  ///   - configuration: its channel is `.enhanced`.
  ///   - carriesProcedures: whether operations and commands of this end may use the bearer. False
  ///     once commands may be under way on the unenhanced bearer, which later ones could overtake.
  /// - Returns: its session; nil after ``limit`` bearers.
  public func add(_ configuration: BearerConfiguration, carriesProcedures: Bool) -> Session? {
    // A number is not used twice, because identifiers of transactions contain it.
    guard nextNumber > 0 else { return nil }
    let session = Session(
      configuration, server: main.server, client: main.client, number: nextNumber,
      carriesProcedures: carriesProcedures)
    nextNumber &+= 1
    session.asksForSecurity = main.asksForSecurity
    if enhanced.isEmpty, let client = main.client {
      configuredBefore = Array(client.allConfigurations.keys)
    }
    enhanced.append(session)
    main.client?.bearerCount += 1
    return session
  }

  /// Removes an enhanced bearer whose session has failed or whose channel has ended. Ends its
  /// operations, if they have not ended yet.
  public func remove(_ session: Session, at now: Instant) {
    guard enhanced.contains(where: { $0 === session }) else { return }
    // While its operations end, it is still in the group, so that none that they start prepares
    // writes before the queue is dropped.
    if session.bearer.failure == nil { session.channelEnded() }
    // One of them may have ended the link.
    guard let index = enhanced.firstIndex(where: { $0 === session }) else { return }
    enhanced.remove(at: index)
    main.client?.bearerCount -= 1
    commands.forget(session.number)
    values.forget(session.number)
    if session.wasPreparing, main.bearer.failure == nil {
      let drop = ProcedureOperation(DropPreparedWrites())
      main.start(main.newTransactionID(), drop, at: now, isLimited: false)
    }
    pump(at: now)
  }

  /// Ends all bearers and operations, because the link has ended. Call this once, in place of
  /// ``Session/linkEnded()``.
  public func linkEnded() {
    let ended = enhanced
    enhanced = []
    main.client?.bearerCount = 1
    main.linkEnded()
    for session in ended { session.linkEnded() }
    let waiting = waiting
    self.waiting = []
    for entry in waiting { entry.operation.fail(.bearer(.linkEnded)) }
  }

  /// Lets all sessions send what has become possible, and starts operations that waited. Call this
  /// after each input to a session.
  public func pump(at now: Instant) {
    startWaiting(at: now)
    // Only a change that concerns the client as a whole lets another session send.
    main.pump(at: now)
    for session in enhanced { session.pump(at: now) }
  }

  // MARK: Operations of the client

  /// Starts an operation on one of the bearers, as ``Session/start(_:at:)`` does.
  @discardableResult
  public func start(_ operation: ClientOperation, at now: Instant) -> TransactionID {
    let id = main.newTransactionID()
    let limit = main.bearer.configuration.maximumWaiting
    if !mustWait(operation, behind: waiting.count), let session = place(operation) {
      session.start(id, operation, at: now)
    } else if waiting.count < limit {
      waiting.append((id, operation))
    } else {
      operation.fail(.misuse(.tooManyProcedures(limit: limit)))
    }
    return id
  }

  /// Cancels an operation, as ``Session/cancel(_:at:)`` does.
  public func cancel(_ id: TransactionID, at now: Instant) {
    if let index = waiting.firstIndex(where: { $0.id == id }) {
      waiting.remove(at: index).operation.fail(.cancelled)
    } else {
      session(of: id)?.cancel(id, at: now)
    }
    pump(at: now)
  }

  /// The session that carries out an operation; nil if the operation waits or has ended.
  public func session(of id: TransactionID) -> Session? {
    all.first { $0.operations.contains(id) }
  }

  /// The number of operations that have not ended.
  public var operationCount: Int {
    enhanced.reduce(main.operationCount + waiting.count) { $0 + $1.operationCount }
  }

  /// The session to send a Write Command on.
  public func session(forCommandsTo handle: AttributeHandle) -> Session {
    if let session = keeper(commands.bearer(of: handle)) { return session }
    // Behind a request to the same attribute, if there is one.
    let footprint = Footprint(handle, isWrite: true)
    let session =
      all.first { $0.conflicts(with: footprint, preparesWrites: false) }
      ?? least { ($0.carriesProcedures, self.commands.count(of: $0.number)) }
    commands.assign(handle, to: session.number)
    return session
  }

  private func startWaiting(at now: Instant) {
    guard !waiting.isEmpty, !isPumping else { return }
    isPumping = true
    defer { isPumping = false }
    var index = 0
    while index < waiting.count {
      if !mustWait(waiting[index].operation, behind: index),
        let session = place(waiting[index].operation)
      {
        let entry = waiting.remove(at: index)
        session.start(entry.id, entry.operation, at: now)
      } else {
        index += 1
      }
    }
  }

  /// Whether an operation conflicts with one of the first operations that wait.
  private func mustWait(_ operation: ClientOperation, behind count: Int) -> Bool {
    guard count > 0 else { return false }
    let footprint = operation.footprint
    return waiting[..<min(count, waiting.count)].contains {
      let other = $0.operation.footprint
      return operation.preparesWrites && $0.operation.preparesWrites
        || footprint?.isExclusive == true || other?.isExclusive == true
        || footprint?.conflicts(with: other) == true
    }
  }

  /// The session for an operation; nil if it must wait.
  private func place(_ operation: ClientOperation) -> Session? {
    guard !enhanced.isEmpty else { return main }
    let footprint = operation.footprint
    var required: Session?
    let isExclusive = footprint?.isExclusive == true
    if all.contains(where: { $0.operations.hasExclusive || isExclusive && $0.isBusy }) {
      return nil
    }
    let preparesWrites = operation.preparesWrites
    if preparesWrites, enhanced.contains(where: { $0.wasPreparing }) { return nil }
    for session in all
    where session.conflicts(with: footprint, preparesWrites: preparesWrites) {
      if required != nil { return nil }
      required = session
    }
    if let footprint, let session = commands.first(in: footprint.range, keeper) {
      if let required, required !== session { return nil }
      required = session
    }
    if let required, !isSuitable(required) { return nil }
    return required ?? least { ($0.carriesProcedures, $0.operationCount) }
  }

  // MARK: Values of the server

  /// The session to send the values of an attribute on.
  public func session(forValuesOf handle: AttributeHandle) -> Session {
    if let session = keeper(values.bearer(of: handle)) { return session }
    let session =
      wasConfiguredBefore(handle)
      ? main : least { (true, self.values.count(of: $0.number)) }
    values.assign(handle, to: session.number)
    return session
  }

  /// Whether the client had configured a value before the first enhanced bearer.
  private func wasConfiguredBefore(_ handle: AttributeHandle) -> Bool {
    let descriptor = main.server?.database.configuration(ofValue: handle)
    return descriptor.map { configuredBefore.contains($0) } ?? false
  }

  /// The session to send several values in one notification on; nil if they have different bearers.
  public func session(forValuesOf handles: [AttributeHandle]) -> Session? {
    guard let first = handles.first else { return nil }
    let session = session(forValuesOf: first)
    for handle in handles {
      let number = values.bearer(of: handle) ?? (wasConfiguredBefore(handle) ? 0 : nil)
      guard number == nil || number == session.number else { return nil }
    }
    for handle in handles { values.assign(handle, to: session.number) }
    return session
  }

  /// The session that has sent or queued an indication.
  public func session(ofIndication id: TransactionID) -> Session {
    session(UInt8(truncatingIfNeeded: id.rawValue >> 56)) ?? main
  }

  /// Passes on the application's answer to a question that it had postponed, on the bearer of the
  /// request.
  ///
  /// - Returns: the session that has sent the response; nil if the request no longer exists.
  public func answer(_ id: QuestionID, _ answer: LateAnswer, at now: Instant) -> Session? {
    guard let session = all.first(where: { $0.answer(id, answer, at: now) }) else { return nil }
    pump(at: now)
    return session
  }

  // MARK: Sessions

  /// All sessions, the unenhanced first.
  public var all: [Session] { [main] + enhanced }

  private func session(_ number: UInt8?) -> Session? {
    guard let number else { return nil }
    return number == 0 ? main : enhanced.first { $0.number == number }
  }

  /// The session of an attribute, unless it has failed or its ATT_MTU has become too small.
  private func keeper(_ number: UInt8?) -> Session? {
    guard let session = session(number), isSuitable(session) else { return nil }
    return session
  }

  /// Whether the bearer lives, and what fits the unenhanced one fits it. An operation may start
  /// another one when it ends with its bearer.
  private func isSuitable(_ session: Session) -> Bool {
    session.bearer.failure == nil && session.bearer.mtu >= main.bearer.mtu
  }

  /// The session with the least load whose ATT_MTU is large enough; the first enhanced one of those
  /// with the same load.
  private func least(_ rate: (Session) -> (isSuitable: Bool, load: Int)) -> Session {
    var best: (session: Session, load: Int)?
    for session in enhanced where isSuitable(session) {
      let (isSuitable, load) = rate(session)
      if isSuitable, load < best?.load ?? .max { best = (session, load) }
    }
    guard let best, best.load <= rate(main).load else { return main }
    return best.session
  }
}
