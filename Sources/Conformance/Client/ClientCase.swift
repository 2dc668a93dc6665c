/// One case against clients.
struct ClientCase: Sendable {
  let name: String
  let title: String
  /// What the server offers when ATT_MTU is exchanged.
  var mtu = 517
  /// Whether it takes more than half a minute.
  var isSlow = false
  /// What is sent before the client's first request is answered.
  var injected: [[UInt8]] = []
  /// What the client has to do about that.
  var wants: Wanted = .nothing
  /// What is sent instead of the right answer to a request: nil is the right one, an empty list
  /// none at all. Gets the request, the right answer, and how many requests came before.
  var answers: @Sendable ([UInt8], [UInt8], Int) -> [[UInt8]]? = { _, _, _ in nil }
  /// Judges at the end.
  var verdict: @Sendable (ClientBench) throws(CaseStop) -> Void = { _ throws(CaseStop) in }

  enum Wanted: Sendable {
    /// No answer; the case is exercised by any request.
    case nothing
    /// So many confirmations, or more.
    case confirmations(Int, Rule)
    /// A response that fits.
    case response(Rule, @Sendable ([UInt8]) -> Bool)
  }

  init(_ name: String, _ title: String) {
    self.name = name
    self.title = title
  }
}

extension ClientCase {
  /// Plays it on a link that a client has opened.
  func run(_ bench: ClientBench) async throws(CaseStop) {
    var count = 0
    while let request = try await bench.nextRequest() {
      if count == 0 { try await inject(bench) }
      let right = bench.answer(to: request)
      try await bench.judgePatience()
      for pdu in answers(request, right, count) ?? [right] { try await bench.send(pdu) }
      count += 1
    }
    guard count > 0 else { throw .notExercised("the client sent no request") }
    try verdict(bench)
  }

  private func inject(_ bench: ClientBench) async throws(CaseStop) {
    for pdu in injected { try await bench.send(pdu) }
    // Until its own request is answered the client has nothing else to do.
    let hold = Duration.seconds(2)
    switch wants {
    case .nothing: return
    case .confirmations(let count, let rule):
      while bench.confirmations < count {
        guard let pdu = try await bench.nextPDU(within: hold) else {
          throw rule.broken("\(bench.confirmations) confirmations came within \(hold)")
        }
        _ = pdu
      }
    case .response(let rule, let fits):
      while bench.responses.isEmpty {
        guard try await bench.nextPDU(within: hold) != nil else {
          throw rule.broken("no response came within \(hold)")
        }
      }
      guard fits(bench.responses[0]) else {
        throw rule.broken("another response came", got: bench.responses[0])
      }
    }
  }
}
