import AttoATT

/// The request in progress on a bearer, with the answers of the application.
///
/// A request that needs several late answers is executed again after each one, with the answers so
/// far. So each kind of request is written once, as if all answers were available from the start.
///
/// Most requests ask the application nothing, so the memory is allocated when it is first needed
/// and then reused. Until then a transaction is an empty reference.
public struct ServerTransaction: ~Copyable {
  private var memory: Memory?

  private final class Memory {
    /// The request, if it waits for the application.
    @exclusivity(unchecked) var octets: [UInt8] = []
    @exclusivity(unchecked) var answers: [Given] = []
    /// The unanswered question.
    @exclusivity(unchecked) var open: Question?
    @exclusivity(unchecked) var refusedRevision: UInt32?
  }

  private struct Given {
    let kind: Question.Kind
    let handle: AttributeHandle
    let answer: LateAnswer
  }

  /// Creates a transaction without a request.
  public init() {}

  private mutating func remembering() -> Memory {
    if let memory { return memory }
    let memory = Memory()
    self.memory = memory
    return memory
  }

  /// The request that waits for the application; empty if there is none.
  public var request: [UInt8] { memory?.octets ?? [] }

  /// Whether the request has waited for the application before.
  var isResumed: Bool { memory?.octets.isEmpty == false }

  /// Keeps the request until the application has answered.
  mutating func keep(request octets: RawSpan) { remembering().octets = octets.owned }

  /// The answer to a question, if there is one.
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

  /// Accepts an answer. Returns false if it does not belong to the unanswered question.
  mutating func accept(_ answer: LateAnswer, to id: QuestionID) -> Bool {
    guard let memory, let question = memory.open, question.id == id else { return false }
    keep(answer, to: question.kind, question.handle)
    memory.open = nil
    return true
  }

  /// The revision of the database for which this bearer was last sent Database Out Of Sync.
  var refusedRevision: UInt32? { memory?.refusedRevision }
  mutating func wasRefused(at revision: UInt32) { remembering().refusedRevision = revision }

  /// Ends the transaction, because the request was answered or the bearer has ended.
  mutating func end() {
    guard let memory else { return }
    memory.open = nil
    if !memory.answers.isEmpty { memory.answers.removeAll(keepingCapacity: true) }
    if !memory.octets.isEmpty { memory.octets.removeAll(keepingCapacity: true) }
  }
}

/// The result of executing a request.
public enum ServerAction: Equatable, Sendable {
  /// The response has been written.
  case respond
  /// The application will answer later; nothing has been written.
  case wait(QuestionID)
}

/// Why a request, or a part of it, cannot continue.
enum Halt: Error, Equatable {
  case refused(ErrorCode, AttributeHandle)
  case waits(QuestionID)
}
