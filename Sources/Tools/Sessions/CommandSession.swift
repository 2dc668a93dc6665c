import Atto
import AttoCommandLine
import AttoFormats
import AttoPeers
import Synchronization

/// The connections and requests of `atto session`, on the thread of its loop.
///
/// Requests run at the same time, but those for one connection in turn: each begins when the one before
/// it has ended, or has begun to deliver values (``begun(_:)``). `cancel` and `disconnect` do not wait.
/// On a connection with enhanced bearers, requests that read and write (``CommandAccess``) wait only for
/// those before them that access the same values, and the others for all before them.
///
/// Limits: ``requestLimit`` requests at a time, ``connectionLimit`` connections, and ``valueLimit``
/// values that a script has not expected yet.
package actor CommandSession {
  static let requestLimit = 1024
  static let connectionLimit = 64
  static let valueLimit = 4096
  /// The name of a connection that is not given one.
  static let defaultConnection = "main"

  /// What happens without a request.
  enum Event: Sendable {
    case disconnected(String, (any Error)?)
  }

  /// A request under way.
  private struct Running {
    /// The number of the request, which is not used twice as its ID may be.
    let number: Int
    let connection: String
    let task: Task<Void, any Error>
    let command: String
    let isEndless: Bool
  }

  nonisolated let loop: Loop
  nonisolated let commands: SessionCommands
  /// Whether results are JSON with the ID of their request.
  nonisolated let isJSON: Bool
  /// Whether a later line ends with what has ended its connection.
  private let isScript: Bool
  package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  /// The handles of values and descriptors of the database that was discovered last.
  nonisolated let knownHandles = Mutex<[String]>([])

  private let observer: @Sendable (Event) -> Void
  private var connections: [String: HeldConnection] = [:]
  /// Connections of a script that the peer or the radio has ended, until a line has met it; at most
  /// ``connectionLimit``.
  private var losses: [String: any Error] = [:]
  /// Connections of which a script expects that the peer ends them.
  private var expectedEnds: Set<String> = []
  /// Names of connections that are being opened.
  private var opening: Set<String> = []
  /// The connection of requests that name none.
  private var current = CommandSession.defaultConnection
  private var running: [RequestID: Running] = [:]
  /// A request that has not begun, before others for its connection.
  private struct Turn {
    let number: Int
    let access: CommandAccess?
  }

  private var lastNumber = 0
  /// The requests for each connection that have not begun, in order, and those that wait for one.
  private var turns: [String: [Turn]] = [:]
  private var waiting: [Int: [CheckedContinuation<Void, Never>]] = [:]
  /// The servers that run.
  var controls: [RequestID: ControlLine] = [:]
  /// Values that a script has not expected yet, and the end of a wait for one.
  var values: [ReceivedValue] = []
  /// Ends a script's wait for a value, or for the end of its connection.
  var news: AsyncStream<Void>.Continuation?
  /// The question that waits for an answer.
  var question: AsyncStream<String>.Continuation?
  /// The program's reply to a question about a value: the value, or the code to refuse with.
  typealias Reply = Result<[UInt8], ErrorCode>
  /// The questions about values that wait for a reply, each of a client's request.
  var questions: [Int: AsyncStream<Reply>.Continuation] = [:]
  var lastQuestion = 0

  init(
    _ commands: SessionCommands, on loop: Loop, isJSON: Bool, isScript: Bool = false,
    _ observer: @escaping @Sendable (Event) -> Void
  ) {
    self.commands = commands
    self.loop = loop
    self.isJSON = isJSON
    self.isScript = isScript
    self.observer = observer
  }

  // MARK: Requests

  /// Starts a request.
  ///
  /// - Throws: `UsageError` if it cannot even be started.
  /// - Returns: the task that ends with it.
  func start(_ request: SessionRequest) throws(UsageError) -> Task<Void, any Error> {
    let command = try commands.named(request.command)
    return try start(
      command, Arguments(request.words, of: command.description), as: request.id,
      on: request.connection, with: request.profile)
  }

  /// The same for a command whose arguments have been read.
  func start(
    _ command: SessionCommands.Command, _ arguments: Arguments, as id: RequestID,
    on connection: String? = nil, with profile: Profile? = nil
  ) throws(UsageError) -> Task<Void, any Error> {
    guard running[id] == nil else {
      throw UsageError("request \(id) is still in progress: give each its own ID")
    }
    guard running.count < Self.requestLimit else {
      throw UsageError("\(Self.requestLimit) requests are in progress, which is the limit")
    }
    for note in arguments.notes { Terminal.note("\(command.description.name): \(note)") }
    var arguments = arguments
    arguments.place = Place(session: self, request: id, profile: profile)
    let name = connection ?? current
    lastNumber += 1
    let turn = Turn(number: lastNumber, access: command.access(arguments))
    let former = command.takesTurns ? turns[name] ?? [] : []
    if command.takesTurns { turns[name, default: []].append(turn) }
    waiting[turn.number] = []
    let task = Task(executorPreference: loop.tasks) { [loop, arguments] in
      await self.wait(for: former, before: turn, on: name)
      let failure: (any Error)?
      do {
        try Task.checkCancellation()
        try await Self.limit(arguments, command.description, loop) {
          try await command.run(arguments, connection: name, in: self)
        }
        failure = nil
      } catch {
        failure = error
      }
      await self.ended(id)
      if let failure { throw failure }
    }
    running[id] = Running(
      number: turn.number, connection: name, task: task, command: command.description.name,
      isEndless: command.description.timeLimit.isEndless(arguments))
    return task
  }

  /// Waits until it is a request's turn.
  private func wait(for former: [Turn], before turn: Turn, on name: String) async {
    if let access = turn.access {
      // Only after `connect` it is known whether there are several bearers.
      if let last = former.last(where: { $0.access == nil }) { await hasBegun(last.number) }
      if connections[name]?.hasSeveralBearers == true {
        for other in former where other.access?.conflicts(with: access) == true {
          await hasBegun(other.number)
        }
        return
      }
    } else if connections[name]?.hasSeveralBearers == true {
      for other in former { await hasBegun(other.number) }
    }
    if let last = former.last { await hasBegun(last.number) }
  }

  /// Waits until a request has ended or delivers values.
  func hasBegun(_ id: RequestID) async {
    if let number = running[id]?.number { await hasBegun(number) }
  }

  private func hasBegun(_ number: Int) async {
    guard waiting[number] != nil else { return }
    await withCheckedContinuation { continuation in
      // Looked up again: the task may have been suspended before.
      if waiting[number] == nil {
        continuation.resume()
      } else {
        waiting[number]?.append(continuation)
      }
    }
  }

  /// Cancels a body after a time. That is a normal end of commands that do not end by themselves.
  private static func limit(
    _ arguments: Arguments, _ description: CommandDescription, _ loop: Loop,
    _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    guard let time = arguments[CommonOptions.maxTime] else { return try await body() }
    let work = Task(executorPreference: loop.tasks) { try await body() }
    let isOver = Atomic<Bool>(false)
    let alarm = loop.after(time) {
      isOver.store(true, ordering: .relaxed)
      work.cancel()
    }
    defer { alarm.cancel() }
    do {
      try await work.valueOrCancel
    } catch {
      guard isOver.load(ordering: .relaxed), ExitStatus(error).isInterruption else { throw error }
      if !description.timeLimit.isOpen(arguments) {
        throw OutOfTime(message: "stopped after \(MaxTime.text(time))")
      }
    }
  }

  func isInProgress(_ id: RequestID) -> Bool { running[id] != nil }

  /// Lets the next request for the same connection begin.
  func begun(_ id: RequestID) {
    guard let request = running[id] else { return }
    turns[request.connection]?.removeAll { $0.number == request.number }
    if turns[request.connection]?.isEmpty == true { turns[request.connection] = nil }
    for waiter in waiting.removeValue(forKey: request.number) ?? [] { waiter.resume() }
  }

  private func ended(_ id: RequestID) {
    begun(id)
    running[id] = nil
    controls[id] = nil
  }

  /// The requests under way, with their commands.
  var requests: [(id: RequestID, command: String)] {
    running.map { ($0.key, $0.value.command) }.sorted { "\($0.id)" < "\($1.id)" }
  }

  func cancel(_ id: String) throws(UsageError) {
    guard let request = running.first(where: { "\($0.key)" == id }) else {
      throw UsageError("no request \(id) is in progress")
    }
    request.value.task.cancel()
  }

  func cancelAll() { for request in running.values { request.task.cancel() } }

  /// Ends the session: waits for the requests that end by themselves, unless all are cancelled, cancels
  /// the others, and closes the connections.
  func end(cancelling all: Bool) async {
    while !all, let request = running.values.first(where: { !$0.isEndless }) {
      _ = await withTaskCancellationHandler {
        await request.task.result
      } onCancel: {
        request.task.cancel()
      }
    }
    cancelAll()
    for task in running.values.map(\.task) { _ = await task.result }
    for connection in connections.values { await connection.close() }
  }

  // MARK: Connections

  /// - Throws: `UsageError` without a connection of that name; what has ended it, once, in a script.
  func connection(_ name: String) throws -> HeldConnection {
    if let connection = connections[name] { return connection }
    try checkLink(name)
    guard !connections.isEmpty else {
      throw UsageError("there is no connection", hint: "connect ENDPOINT opens one")
    }
    throw UsageError(
      "there is no connection \"\(name)\"",
      hint: "open connections: \(connections.keys.sorted().joined(separator: ", "))")
  }

  /// - Throws: as ``connection(_:)``.
  var currentConnection: HeldConnection {
    get throws { try connection(current) }
  }

  /// Throws what has ended a connection, unless a line of the script has met it before.
  private func checkLink(_ name: String) throws {
    if let loss = losses.removeValue(forKey: name) { throw loss }
  }

  /// The same for the connection of requests that name none.
  func checkLink() throws { try checkLink(current) }

  /// Lets the peer end the current connection; nil if it has done so.
  func expectEnd() throws -> Connection? {
    if losses.removeValue(forKey: current) != nil { return nil }
    let held = try currentConnection
    expectedEnds.insert(current)
    return held.connection
  }

  var openConnections: [(name: String, endpoint: Endpoint)] {
    connections.map { ($0.key, $0.value.endpoint) }.sorted { $0.name < $1.name }
  }

  func use(_ name: String) throws {
    _ = try connection(name)
    current = name
  }

  func connect(_ connecting: Connecting, as name: String) async throws -> HeldConnection {
    guard connections[name] == nil, !opening.contains(name) else {
      throw UsageError(
        "there is a connection \"\(name)\" already", hint: "disconnect it, or give another name")
    }
    guard connections.count + opening.count < Self.connectionLimit else {
      throw UsageError("\(Self.connectionLimit) connections are open, which is the limit")
    }
    opening.insert(name)
    defer { opening.remove(name) }
    let held = try await HeldConnection.open(connecting, on: loop)
    connections[name] = held
    losses[name] = nil
    expectedEnds.remove(name)
    if !isJSON, connections.count == 1 { current = name }
    Task(executorPreference: loop.tasks) {
      let end = await held.holder.result
      await self.closed(name, end)
    }
    return held
  }

  private func closed(_ name: String, _ end: Result<Void, any Error>) {
    connections[name] = nil
    var reason: (any Error)?
    if case .failure(let error) = end { reason = error }
    let isExpected = expectedEnds.remove(name) != nil
    if isScript, let reason, !isExpected, losses.count < Self.connectionLimit {
      losses[name] = reason
      news?.finish()
    }
    observer(.disconnected(name, reason))
  }
}
