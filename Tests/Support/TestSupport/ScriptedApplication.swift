import AttoATT
import AttoGATT

/// An application that answers as a test tells it to, and records the questions.
package final class ScriptedApplication: Application {
  /// The answers by value. Questions about other values are answered as without an application.
  package var reads: [AttributeHandle: ReadAnswer] = [:]
  package var writes: [AttributeHandle: WriteAnswer] = [:]
  package var executes: WriteAnswer = .accepted
  package var authorizations: [AttributeHandle: WriteAnswer] = [:]
  private let acceptsWrites: Bool
  /// Every question in order, with its parameters below.
  package var questions: [Question] = []
  package private(set) var written: [(AttributeHandle, [UInt8])] = []
  package private(set) var executed: [[PreparedWrite]] = []
  package private(set) var offsets: [Int] = []
  /// Called with each question before it is answered.
  package var meanwhile: (Question) -> Void = { _ in }

  /// - Parameter acceptsWrites: whether writes without an answer in ``writes`` are accepted.
  package init(acceptsWrites: Bool = false) { self.acceptsWrites = acceptsWrites }

  package override func read(_ question: Question, offset: Int) -> ReadAnswer {
    questions.append(question)
    offsets.append(offset)
    meanwhile(question)
    return reads[question.handle] ?? super.read(question, offset: offset)
  }

  package override func write(_ question: Question, _ value: RawSpan) -> WriteAnswer {
    questions.append(question)
    written.append((question.handle, value.owned))
    meanwhile(question)
    return writes[question.handle] ?? (acceptsWrites ? .accepted : super.write(question, value))
  }

  package override func execute(_ question: Question, _ writes: [PreparedWrite]) -> WriteAnswer {
    questions.append(question)
    executed.append(writes)
    meanwhile(question)
    return executes
  }

  package override func authorize(_ question: Question) -> WriteAnswer {
    questions.append(question)
    meanwhile(question)
    return authorizations[question.handle] ?? super.authorize(question)
  }
}
