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
  private static let answersRequests = Rule(
    "A device answers every request, even one that it does not support", "Vol 3, Part F, 3.4.1.1")

  /// Runs the case on the client's link.
  func run(_ bench: ClientBench) async throws {
    var count = 0
    while let request = try await bench.nextRequest() {
      if count == 0 { try await inject(bench) }
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
    try verdict(bench)
  }

  private func inject(_ bench: ClientBench) async throws {
    for pdu in injected { try await bench.send(pdu) }
    // The client is waiting for the response to its own request.
    let hold = Duration.seconds(2)
    switch reaction {
    case .none: return
    case .confirmation:
      while bench.confirmations == 0 {
        guard try await bench.nextPDU(within: hold) != nil else {
          throw Self.confirms.broken("received 0 confirmations within \(hold)")
        }
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
  }
}
