import Atto
import AttoATT
import AttoEventLoop

/// Questions of devices that pair, and their answers.
///
/// # Theory
/// Front ends publish the questions, and any of them may answer: the first answer counts, once. A question
/// ends without an answer after ``questionTime``, or when the link does. So what a device asks can be
/// answered only while it asks, and only by someone who has seen the question.
extension Hub {
  /// The time for an answer. The device and the kernel give up after 30 s (Vol 3, Part H, 3.4).
  package static let questionTime: Duration = .seconds(25)
  /// Questions at one time. Beyond it pairing fails.
  static let questionLimit = 64

  struct OpenQuestion {
    let question: PairingQuestion
    let waiter: Waiter<PairingAnswer?, GatewayError>
  }

  /// Asks a person; nil if there was no answer in time, or the link has ended.
  func ask(_ kind: PairingQuestion.Kind, of peer: BluetoothAddress) async -> PairingAnswer? {
    let question = question(kind, of: peer)
    guard configuration.asksPasskeys, questions.count < Self.questionLimit else {
      log(
        .warning, "\(question.device) cannot pair: it needs a passkey, or a comparison of numbers")
      return nil
    }
    defer { questions[question.id] = nil }
    let answer: PairingAnswer?? = try? await loop.withLocalWaiter {
      (waiter: Waiter<PairingAnswer?, GatewayError>) in
      questions[question.id] = OpenQuestion(question: question, waiter: waiter)
      waiter.resume(.success(nil), after: Self.questionTime)
      tell(question)
    }
    return answer ?? nil
  }

  /// Shows a number that is entered at the device.
  func show(_ number: UInt32, to peer: BluetoothAddress) {
    guard configuration.asksPasskeys else { return }
    tell(question(.show(number), of: peer))
  }

  private func question(_ kind: PairingQuestion.Kind, of peer: BluetoothAddress) -> PairingQuestion
  {
    let number = UInt64.random(in: .min ... .max)
    let id = (0..<8).map { Hex.digits(UInt8(truncatingIfNeeded: number >> (8 * $0))) }.joined()
    return PairingQuestion(
      id: id, device: label(of: peer), address: peer, kind: kind,
      end: loop.now + Self.questionTime.inNanoseconds)
  }

  private func tell(_ question: PairingQuestion) {
    log(.notice, "\(question.device) pairs: \(question.word)")
    tell(.asked(question))
  }

  func tell(_ event: PairingEvent) {
    guard configuration.asksPasskeys else { return }
    for watcher in pairingWatchers.values { watcher.add(event) }
  }

  /// The name of the device at an address, or else the address.
  func label(of peer: BluetoothAddress) -> String {
    device(pairingAs: peer)?.here { $0.label } ?? peer.digits
  }

  func device(pairingAs peer: BluetoothAddress) -> Device? {
    named.values.first { $0.here { $0.address?.value } == peer.value }
  }

  /// The questions that wait for an answer.
  package var openQuestions: [PairingQuestion] { questions.values.map(\.question) }

  /// Whole seconds that are left for an answer.
  package nonisolated func timeLeft(for question: PairingQuestion) -> Int {
    Int(max(0, question.end - loop.now) / 1_000_000_000)
  }

  /// Whether a question waits for an answer.
  package func hasQuestion(_ id: String) -> Bool { questions[id] != nil }

  /// Answers a question.
  ///
  /// - Parameter device: the device that is meant; nil: the one that asks.
  /// - Throws: `unknownQuestion` if there is none, or no longer; `unsuitableAnswer`.
  package func answer(
    _ id: String, of device: String? = nil, _ answer: PairingAnswer
  ) throws(GatewayError) {
    guard let open = questions[id], device.map({ $0 == open.question.device }) ?? true else {
      throw .unknownQuestion
    }
    switch (open.question.kind, answer) {
    case (.enter, .yes): throw .unsuitableAnswer(expected: "six digits, or no")
    case (.compare, .passkey): throw .unsuitableAnswer(expected: "yes or no")
    default: break
    }
    questions[id] = nil
    open.waiter.resume(.success(answer))
  }

  /// What happens from now on, for one consumer.
  package func pairingEvents() -> Batches<PairingEvent> {
    lastListener += 1
    let id = lastListener
    let queue = BatchQueue<PairingEvent>(limit: Self.questionLimit)
    pairingWatchers[id] = queue
    return Batches(queue, on: loop) { [weak self] in
      guard let self else { return }
      self.loop.execute { self.here { $0.pairingWatchers[id] = nil } }
    }
  }
}
