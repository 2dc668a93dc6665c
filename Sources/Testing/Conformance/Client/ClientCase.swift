struct ClientCase: Sendable {
  var name: String
  var title: String
  /// Whether it takes more than half a minute.
  var isSlow = false
  /// The PDUs to send before the response to the client's first request.
  var injected: [[UInt8]] = []
  /// The required reaction to them.
  var reaction: Reaction = .none
  /// How long each response takes, in which the client may send no other request.
  var pause: Duration = .milliseconds(10)
  /// How long the response to the client's second request takes instead.
  var delay: Duration?
  /// The PDUs to send instead of the correct response: nil for the correct response, an empty list for
  /// none. The parameters are the request, the correct response, and the number of earlier requests.
  var answers: @Sendable ([UInt8], [UInt8], Int) -> [[UInt8]]? = { _, _, _ in nil }
  /// The requests that exercise the case; nil for any.
  var exercise: Exercise?
  /// The check at the end.
  var verdict: @Sendable (ClientBench) throws -> Void = { _ in }

  enum Reaction: Sendable {
    case none
    /// At least one confirmation.
    case confirmation
    /// A response that matches.
    case response(@Sendable ([UInt8]) -> Bool)
  }

  struct Exercise: Sendable {
    var opcodes: [UInt8]
    /// What the client did not do, if none of its requests has one of the opcodes.
    var omission: String
  }

  private static let confirms = Rule(
    "A client confirms every indication and drops those that it cannot use",
    "Vol 3, Part F, 3.4.7.2")
  private static let isIndependent = Finding(
    "The flow control of client and server is independent", section: "Vol 3, Part F, 3.3.2",
    "the indication was confirmed only after the response to the client's own request")
  private static let answersRequests = Rule(
    "A device answers every request, even one that it does not support", "Vol 3, Part F, 3.4.1.1")

  /// Runs the case on the client's link.
  func run(_ bench: ClientBench) async throws {
    var count = 0
    var isInTime = true
    while let request = try await bench.nextRequest() {
      if count == 0 { isInTime = try await inject(bench) }
      let right = bench.answer(to: request)
      try await bench.checkPatience(for: count == 1 ? delay ?? pause : pause)
      let others = answers(request, right, count)
      if others == nil { bench.expectContinuation(after: right) }
      for pdu in others ?? [right] { try await bench.send(pdu) }
      count += 1
    }
    guard count > 0 else { throw CaseStop.notExercised("the client sent no request") }
    if let exercise, !bench.requests.contains(where: { exercise.opcodes.contains($0[0]) }) {
      throw CaseStop.notExercised("the client \(exercise.omission)")
    }
    if !isInTime {
      try Self.confirms.check(bench.confirmations > 0, "received no confirmation")
      bench.links.notes.append(Self.isIndependent)
    }
    try verdict(bench)
  }

  /// Sends what the case injects, while the client waits for the response to its own request.
  ///
  /// - Returns: false if a wanted confirmation did not come in time. It may come after that response.
  private func inject(_ bench: ClientBench) async throws -> Bool {
    for pdu in injected { try await bench.send(pdu) }
    let hold = Duration.seconds(2)
    switch reaction {
    case .none: break
    case .confirmation:
      while bench.confirmations == 0 {
        guard try await bench.nextPDU(within: hold) != nil else { return false }
      }
    case .response(let fits):
      while bench.responses.isEmpty {
        guard try await bench.nextPDU(within: hold) != nil else {
          throw Self.answersRequests.broken("received no response within \(hold)")
        }
      }
      try Self.answersRequests.check(
        fits(bench.responses[0]), "received another response", got: bench.responses[0])
    }
    return true
  }
}
