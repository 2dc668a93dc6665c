import Atto
import AttoCommandLine
import AttoFormats

// What commands tell the session, and what it keeps for its user: answers to questions, servers, and
// values that a script expects.

extension CommandSession {
  /// The place of a command in a session.
  struct Place: SessionPlace {
    let session: CommandSession
    let request: RequestID
    let profile: Profile?
    var isJSON: Bool { session.isJSON }

    func begun() async { await session.begun(request) }

    // Programs get their values as results.
    func received(_ value: ReceivedValue) async { if !isJSON { await session.received(value) } }

    func discovered(_ database: RemoteDatabase) async { session.discovered(database) }

    func nextAnswer() async -> String? { await session.nextAnswer() }

    func serves(_ control: @escaping ControlLine) async {
      await session.serves(control, for: request)
    }

    func ask(
      within time: Duration, _ report: @Sendable (Int) -> Void
    ) async throws(ErrorCode) -> [UInt8] {
      try await session.ask(within: time, report)
    }
  }

  private nonisolated func discovered(_ database: RemoteDatabase) {
    let handles = database.services.flatMap(\.characteristics).flatMap { characteristic in
      [characteristic.valueHandle] + characteristic.descriptors.map(\.handle)
    }
    knownHandles.withLock { $0 = handles.map(\.description) }
  }

  private func serves(_ control: @escaping ControlLine, for request: RequestID) {
    controls[request] = control
  }

  /// Waits for an answer to a question of pairing; nil if the session ends before.
  func nextAnswer() async -> String? {
    let (answers, continuation) = AsyncStream<String>.makeStream()
    question?.finish()
    question = continuation
    for await answer in answers { return answer }
    return nil
  }

  /// Whether a question waits for its answer.
  var isAsking: Bool { question != nil }

  /// - Throws: `UsageError` if nothing was asked.
  func answer(_ text: String) throws(UsageError) {
    guard let question else { throw UsageError("nothing was asked") }
    self.question = nil
    question.yield(text)
    question.finish()
  }

  // MARK: Questions about the values of servers

  private func ask(
    within time: Duration, _ report: @Sendable (Int) -> Void
  ) async throws(ErrorCode) -> [UInt8] {
    // A program that does not read is asked no more.
    await Terminal.room()
    lastQuestion += 1
    let number = lastQuestion
    let (replies, continuation) = AsyncStream<Reply>.makeStream()
    questions[number] = continuation
    let alarm = loop.after(time) { continuation.finish() }
    defer {
      alarm.cancel()
      questions[number] = nil
    }
    // A client that disconnects ends the question at once, before the program is told of it.
    let reply = await withTaskCancellationHandler { () -> Reply? in
      report(number)
      for await reply in replies { return reply }
      return nil
    } onCancel: {
      continuation.finish()
    }
    guard let reply else { throw .unlikelyError }
    return try reply.get()
  }

  /// - Throws: `UsageError` if this question does not wait for a reply.
  func reply(_ reply: Reply, to number: Int) throws(UsageError) {
    let question = questions.removeValue(forKey: number)
    defer { question?.finish() }
    // A client that has left has ended it, and ask(within:_:) forgets it a moment later.
    guard let question, case .enqueued = question.yield(reply) else {
      throw UsageError("question \(number) does not wait for a reply")
    }
  }

  /// Keeps a value until a script asks for it; without room, the oldest goes.
  func received(_ value: ReceivedValue) {
    if values.count == Self.valueLimit { values.removeFirst() }
    values.append(value)
    news?.finish()
  }

  /// The next value of a handle, or of any: one that has arrived, or arrives within a time.
  ///
  /// - Throws: what has ended the current connection, or ends it in this time.
  func value(of handle: AttributeHandle?, within time: Duration) async throws -> ReceivedValue? {
    try await wait(for: time) {
      let index = values.firstIndex { handle == nil || $0.handle == handle }
      return index.map { values.remove(at: $0) }
    }
  }

  /// Waits for a time.
  ///
  /// - Throws: what has ended the current connection, or ends it in this time; `CancellationError`.
  func wait(for time: Duration) async throws {
    _ = try await wait(for: time) { Never?.none }
    try Task.checkCancellation()
  }

  private func wait<Found>(for time: Duration, _ find: () -> Found?) async throws -> Found? {
    let end = loop.refreshNow() + time.inNanoseconds
    while true {
      if let found = find() { return found }
      try checkLink()
      let left = end - loop.refreshNow()
      guard left > 0, !Task.isCancelled else { return nil }
      let (arrival, continuation) = AsyncStream<Void>.makeStream()
      news = continuation
      let alarm = loop.after(.nanoseconds(left)) { continuation.finish() }
      for await _ in arrival {}
      alarm.cancel()
    }
  }
}
