import Atto

// What commands tell the session, and what it keeps for its user: answers to questions, servers, and
// values that a script expects.

extension CommandSession {
  /// The place of a command in a session.
  struct Place: SessionPlace {
    let session: CommandSession
    let request: RequestID
    var isJSON: Bool { session.isJSON }

    func begun() async { await session.begun(request) }

    // Programs get their values as results.
    func received(_ value: ReceivedValue) async { if !isJSON { await session.received(value) } }

    func discovered(_ database: RemoteDatabase) async { session.discovered(database) }

    func nextAnswer() async -> String? { await session.nextAnswer() }

    func serves(_ control: @escaping ControlLine) async {
      await session.serves(control, for: request)
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

  /// Keeps a value until a script asks for it; without room, the oldest goes.
  func received(_ value: ReceivedValue) {
    if values.count == Self.valueLimit { values.removeFirst() }
    values.append(value)
    valueArrived?.finish()
  }

  /// The next value of a handle, or of any: one that has arrived, or arrives within a time.
  func value(of handle: AttributeHandle?, within time: Duration) async -> ReceivedValue? {
    let end = loop.refreshNow() + time.nanoseconds
    while true {
      if let index = values.firstIndex(where: { handle == nil || $0.handle == handle }) {
        return values.remove(at: index)
      }
      let left = end - loop.refreshNow()
      guard left > 0, !Task.isCancelled else { return nil }
      let (arrival, continuation) = AsyncStream<Void>.makeStream()
      valueArrived = continuation
      let alarm = loop.after(.nanoseconds(left)) { continuation.finish() }
      for await _ in arrival {}
      alarm.cancel()
    }
  }
}
