import AttoATT
import AttoEventLoop
import AttoGATT

/// The application's handlers, by attribute handle. Used on the loop's thread.
final class HandlerTable: Application {
  /// Runs at once, on the loop.
  typealias InlineRead = @Sendable (ReadRequestContext) -> ReadAnswer
  typealias AsyncRead = @Sendable (ReadRequestContext) async throws(ErrorCode) -> [UInt8]
  /// Runs at once, on the loop, with the value where it was received.
  typealias InlineWrite = @Sendable (WriteOrigin, RawSpan) -> WriteAnswer
  typealias AsyncWrite = @Sendable ([WriteRequestContext]) async throws(ErrorCode) -> Void

  enum Read: Sendable { case inline(InlineRead), later(AsyncRead) }
  enum Write: Sendable { case inline(InlineWrite), later(AsyncWrite) }
  enum Authorization: Sendable {
    case inline(@Sendable (AuthorizationRequest) -> Bool)
    case later(@Sendable (AuthorizationRequest) async -> Bool)
  }

  @exclusivity(unchecked) var reads: [AttributeHandle: Read] = [:]
  @exclusivity(unchecked) var writes: [AttributeHandle: Write] = [:]
  var authorization: Authorization?
  /// The core that this belongs to. Not weak, which would slow down every later count of references
  /// to the core. It exists whenever this is used, because connections and running handlers hold it.
  @exclusivity(unchecked) unowned var core: ServerCore?
  /// Answers for attributes without a handler.
  var application: Application?

  /// Requests and commands to asynchronous handlers of each client, in order of arrival: a write runs
  /// alone, so that a read sees what was written before it. Reads, of which each bearer has one, run
  /// at the same time.
  private var lanes: [ClientID: Lane] = [:]
  /// Commands dropped because their handler was too slow.
  private(set) var droppedCommands: UInt64 = 0

  /// Handlers that have not ended, by number. Each is a task, which is cancelled when its client
  /// disconnects. It counts until it ends.
  private var running: [UInt64: (client: ClientID, task: Task<Void, Never>)] = [:]
  private var nextTask: UInt64 = 0

  private final class Lane {
    /// Handlers in progress: one write, or any number of reads.
    var running = 0
    var isWriting = false
    var waiting: [Turn] = []
    /// Where the turns of a request go that was authorized just now: before what was sent after it.
    var continuation: Int?

    func mayBegin(_ turn: Turn) -> Bool { turn.isRead ? !isWriting : running == 0 }
  }

  /// A handler's work. Its result is what to do on the loop with the answer.
  private struct Turn {
    /// nil for a command.
    let question: Question?
    let body: @Sendable () async -> @Sendable (HandlerTable) -> Void
    var isRead: Bool { question?.kind == .read }
    var authorizes: Bool {
      question?.kind == .authorizeRead || question?.kind == .authorizeWrite
    }
  }

  /// Commands of one client that may wait. ATT lets a server drop commands that it has no room for
  /// (Vol 3, Part F, 3.3.2).
  static let commandLimit = 4096

  override func accepts(signCounter: UInt32, of client: ClientID) -> Bool {
    // What is stored is the next one.
    core?.connection(client)?.recorder?.accepts(signCounter: signCounter + 1) ?? true
  }

  override func read(_ question: Question, offset: Int) -> ReadAnswer {
    let context = ReadRequestContext(
      client: question.client, handle: question.handle, offset: offset)
    switch reads[question.handle] {
    case nil: return application?.read(question, offset: offset) ?? .refused(.readNotPermitted)
    case .inline(let body): return body(context)
    case .later(let body):
      let isRunning = run(question) {
        do throws(ErrorCode) {
          return .value(try await body(context))
        } catch {
          return .refused(error)
        }
      }
      return isRunning ? .later : .refused(.insufficientResources)
    }
  }

  override func write(_ question: Question, _ value: RawSpan) -> WriteAnswer {
    switch writes[question.handle] {
    case nil: return application?.write(question, value) ?? .refused(.writeNotPermitted)
    case .inline(let body):
      return body(
        WriteOrigin(
          client: question.client, handle: question.handle, offset: 0,
          isCommand: question.kind == .writeCommand), value)
    case .later(let body):
      let context = WriteRequestContext(
        client: question.client, handle: question.handle, value: value.owned, offset: 0,
        isCommand: question.kind == .writeCommand)
      guard !context.isCommand else {
        enqueue(body, context)
        return .accepted
      }
      let isRunning = run(question) { await Self.answer([(body, [context])]) }
      return isRunning ? .later : .refused(.insufficientResources)
    }
  }

  /// Each handler gets what was prepared for its attribute: an inline handler gets adjacent parts as
  /// one value, an asynchronous one all parts in one call. Inline handlers are called first. The
  /// first refusal ends the procedure. Handlers that have accepted are not told, so writing several
  /// attributes of the application is atomic only if the application makes it so.
  override func execute(_ question: Question, _ writes: [PreparedWrite]) -> WriteAnswer {
    if let application, !writes.contains(where: { self.writes[$0.handle] != nil }) {
      return application.execute(question, writes)
    }
    var later: [(AsyncWrite, [WriteRequestContext])] = []
    for write in writes {
      switch self.writes[write.handle] {
      case nil: return .refused(.writeNotPermitted)
      case .inline: break
      case .later(let body):
        let context = WriteRequestContext(
          client: question.client, handle: write.handle, value: write.part,
          offset: write.offset, isCommand: false)
        if let index = later.firstIndex(where: { $0.1[0].handle == write.handle }) {
          later[index].1.append(context)
        } else {
          later.append((body, [context]))
        }
      }
    }
    for write in Self.joined(writes) {
      guard case .inline(let body) = self.writes[write.handle] else { continue }
      let origin = WriteOrigin(
        client: question.client, handle: write.handle, offset: write.offset, isCommand: false)
      let answer = body(origin, write.part.span.bytes)
      if case .refused = answer { return answer }
    }
    guard !later.isEmpty else { return .accepted }
    let bodies = later
    let isRunning = run(question) { await Self.answer(bodies) }
    return isRunning ? .later : .refused(.insufficientResources)
  }

  /// Calls handlers until one refuses.
  private static func answer(
    _ bodies: [(AsyncWrite, [WriteRequestContext])]
  ) async -> LateAnswer {
    do throws(ErrorCode) {
      for (body, contexts) in bodies { try await body(contexts) }
      return .accepted
    } catch {
      return .refused(error)
    }
  }

  /// Joins adjacent parts.
  private static func joined(_ writes: [PreparedWrite]) -> [PreparedWrite] {
    var joined: [PreparedWrite] = []
    for write in writes {
      if let index = joined.lastIndex(where: { $0.handle == write.handle }),
        joined[index].offset + joined[index].part.count == write.offset
      {
        let whole = joined[index]
        joined[index] = PreparedWrite(
          handle: whole.handle, offset: whole.offset, part: whole.part + write.part)
      } else {
        joined.append(write)
      }
    }
    return joined
  }

  override func security(of client: ClientID) -> LinkSecurity? {
    core?.connection(client)?.security
  }

  override func authorize(_ question: Question) -> WriteAnswer {
    let request = AuthorizationRequest(
      client: question.client, handle: question.handle,
      isWrite: question.kind == .authorizeWrite)
    switch authorization {
    case .inline(let body) where body(request): return .accepted
    case .later(let body) where question.canWait:
      let isRunning = run(question) {
        await body(request) ? .accepted : .refused(.insufficientAuthorization)
      }
      return isRunning ? .later : .refused(.insufficientResources)
    default: return .refused(.insufficientAuthorization)
    }
  }

  /// Removes the handlers of attributes that were removed.
  func forget(_ range: HandleRange) {
    reads = reads.filter { !range.contains($0.key) }
    writes = writes.filter { !range.contains($0.key) }
  }

  /// A client has disconnected: its handlers are cancelled, and what waits is dropped.
  func forget(_ client: ClientID) {
    lanes[client] = nil
    for (_, handler) in running where handler.client == client { handler.task.cancel() }
  }

  /// The number of handlers that have not ended.
  var runningCount: Int { running.count }

  /// Starts a handler. False if the limit of running handlers is reached.
  private func begin(
    for client: ClientID, _ body: @escaping @Sendable () async -> @Sendable (HandlerTable) -> Void
  ) -> Bool {
    guard let core, running.count < core.server.limits.handlers else { return false }
    let bound = LoopBound(core, core.loop)
    let number = nextTask
    nextTask += 1
    // Not on the loop: a handler that blocks would stop all clients. In virtual time on the loop, so
    // that time waits for it.
    let task = Task(executorPreference: core.loop.virtualTime == nil ? nil : core.loop.tasks) {
      let end = await body()
      bound.loop.execute {
        bound.value.handlers.running[number] = nil
        end(bound.value.handlers)
      }
    }
    running[number] = (client, task)
    return true
  }

  /// Starts a handler that answers a question. False if there is no room for it.
  private func run(
    _ question: Question, _ body: @escaping @Sendable () async -> LateAnswer
  ) -> Bool {
    schedule(
      Turn(question: question) {
        let answer = await body()
        return { $0.core?.answer(question, answer) }
      }, of: question.client)
  }

  private func enqueue(_ body: @escaping AsyncWrite, _ context: WriteRequestContext) {
    let turn = Turn(question: nil) {
      try? await body([context])
      return { _ in }
    }
    if !schedule(turn, of: context.client) { droppedCommands += 1 }
  }

  /// Carries a turn out, or queues it behind others of its client. False if there is no room.
  private func schedule(_ turn: Turn, of client: ClientID) -> Bool {
    let lane = lanes[client] ?? Lane()
    lanes[client] = lane
    if lane.waiting.isEmpty, lane.mayBegin(turn) { return begin(turn, of: client, in: lane) }
    // Requests are few: each bearer has one.
    guard turn.question != nil || lane.waiting.count < Self.commandLimit else { return false }
    if let index = lane.continuation {
      lane.waiting.insert(turn, at: index)
      lane.continuation = index + 1
    } else {
      lane.waiting.append(turn)
    }
    return true
  }

  private func begin(_ turn: Turn, of client: ClientID, in lane: Lane) -> Bool {
    let isBegun = begin(for: client) {
      #if DEBUG
        let end = await IndicationAdvice.handling(turn.question, turn.body)
      #else
        let end = await turn.body()
      #endif
      return { table in
        if turn.authorizes { table.lanes[client]?.continuation = 0 }
        end(table)
        table.turnEnded(of: client)
      }
    }
    if isBegun {
      lane.running += 1
      lane.isWriting = !turn.isRead
    }
    return isBegun
  }

  private func turnEnded(of client: ClientID) {
    guard let lane = lanes[client] else { return }
    lane.running -= 1
    lane.isWriting = false
    lane.continuation = nil
    while let next = lane.waiting.first, lane.mayBegin(next) {
      let turn = lane.waiting.removeFirst()
      if begin(turn, of: client, in: lane) { continue }
      if let question = turn.question {
        core?.answer(question, .refused(.insufficientResources))
      } else {
        droppedCommands += 1
      }
    }
  }
}
