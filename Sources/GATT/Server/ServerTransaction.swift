import ATT

/// The request that a bearer's server side is at, while the application is asked about it.
///
/// A request that needs several answers is carried out anew each time one arrives, with the
/// answers so far at hand. So each kind of request is written once, as if all answers were
/// there from the beginning.
public struct ServerTransaction {
  /// The request, kept only while the application thinks.
  var octets: [UInt8] = []
  private var answers: [Given] = []
  /// The question that is open.
  private(set) var open: Question?

  /// One without a request.
  public init() {}

  struct Given {
    let kind: Question.Kind
    let handle: AttributeHandle
    let answer: LateAnswer
  }

  /// The answer that was given to this question.
  func answer(_ kind: Question.Kind, _ handle: AttributeHandle) -> LateAnswer? {
    for given in answers where given.kind == kind && given.handle == handle {
      return given.answer
    }
    return nil
  }

  mutating func keep(_ answer: LateAnswer, to kind: Question.Kind, _ handle: AttributeHandle) {
    answers.append(Given(kind: kind, handle: handle, answer: answer))
  }

  mutating func wait(for question: Question) { open = question }

  /// Takes an answer. False if it is to another question than the open one.
  mutating func take(_ answer: LateAnswer, to id: QuestionID) -> Bool {
    guard let question = open, question.id == id else { return false }
    keep(answer, to: question.kind, question.handle)
    open = nil
    return true
  }

  /// Forgets everything: the request is answered, or its bearer is gone.
  mutating func end() {
    open = nil
    if !answers.isEmpty { answers.removeAll(keepingCapacity: true) }
    if !octets.isEmpty { octets.removeAll(keepingCapacity: true) }
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
