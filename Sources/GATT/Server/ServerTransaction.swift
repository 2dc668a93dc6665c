import ATT

/// The request that a bearer's server side is at, while the application is asked about it.
///
/// A request that needs several answers is carried out anew each time one arrives, with the
/// answers so far at hand. So each kind of request is written once, as if all answers were
/// there from the beginning.
///
/// Most requests ask the application nothing, so that what is remembered is made when it is first
/// needed, and then used again; until then a transaction is one empty reference.
public struct ServerTransaction: ~Copyable {
  private var memory: Memory?

  private final class Memory {
    /// The request, kept only while the application thinks.
    @exclusivity(unchecked) var octets: [UInt8] = []
    @exclusivity(unchecked) var answers: [Given] = []
    /// The question that is open.
    @exclusivity(unchecked) var open: Question?
  }

  private struct Given {
    let kind: Question.Kind
    let handle: AttributeHandle
    let answer: LateAnswer
  }

  /// One without a request.
  public init() {}

  private mutating func remembering() -> Memory {
    if let memory { return memory }
    let memory = Memory()
    self.memory = memory
    return memory
  }

  /// The request that waits for the application, as it arrived; empty if none does.
  public var request: [UInt8] { memory?.octets ?? [] }

  /// Whether the request has waited for the application before.
  var isResumed: Bool { memory?.octets.isEmpty == false }

  /// Keeps the request until the application has answered.
  mutating func keep(request octets: RawSpan) { remembering().octets = octets.owned }

  /// The answer that was given to this question.
  func answer(_ kind: Question.Kind, _ handle: AttributeHandle) -> LateAnswer? {
    guard let memory else { return nil }
    for given in memory.answers where given.kind == kind && given.handle == handle {
      return given.answer
    }
    return nil
  }

  mutating func keep(_ answer: LateAnswer, to kind: Question.Kind, _ handle: AttributeHandle) {
    remembering().answers.append(Given(kind: kind, handle: handle, answer: answer))
  }

  mutating func wait(for question: Question) { remembering().open = question }

  /// Takes an answer. False if it is to another question than the open one.
  mutating func take(_ answer: LateAnswer, to id: QuestionID) -> Bool {
    guard let memory, let question = memory.open, question.id == id else { return false }
    keep(answer, to: question.kind, question.handle)
    memory.open = nil
    return true
  }

  /// Forgets everything: the request is answered, or its bearer is gone.
  mutating func end() {
    guard let memory else { return }
    memory.open = nil
    if !memory.answers.isEmpty { memory.answers.removeAll(keepingCapacity: true) }
    if !memory.octets.isEmpty { memory.octets.removeAll(keepingCapacity: true) }
  }
}

/// What came of a request.
public enum ServerAction: Equatable, Sendable {
  /// The response has been written.
  case respond
  /// The application is asked; nothing has been written.
  case wait(QuestionID)
}

/// Why a request, or a part of it, cannot go on.
enum Halt: Error, Equatable {
  case refused(ErrorCode, AttributeHandle)
  case waits(QuestionID)
}
