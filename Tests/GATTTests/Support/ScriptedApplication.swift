import ATT
import GATT

/// An application that answers as a test tells it to, and remembers what it was asked.
final class ScriptedApplication: Application {
  /// What each value is; values that are not here are refused.
  var reads: [AttributeHandle: ReadAnswer] = [:]
  var writes: [AttributeHandle: WriteAnswer] = [:]
  var executes: WriteAnswer = .accepted
  var authorizations: [AttributeHandle: WriteAnswer] = [:]
  /// Every question in order, with what came with it.
  var questions: [Question] = []
  var written: [(AttributeHandle, [UInt8])] = []
  var executed: [[PreparedWrite]] = []
  var offsets: [Int] = []
  /// Called with each question before it is answered.
  var meanwhile: (Question) -> Void = { _ in }

  override func read(_ question: Question, offset: Int) -> ReadAnswer {
    questions.append(question)
    offsets.append(offset)
    meanwhile(question)
    return reads[question.handle] ?? super.read(question, offset: offset)
  }

  override func write(_ question: Question, _ value: RawSpan) -> WriteAnswer {
    questions.append(question)
    written.append((question.handle, value.owned))
    meanwhile(question)
    return writes[question.handle] ?? super.write(question, value)
  }

  override func execute(_ question: Question, _ writes: [PreparedWrite]) -> WriteAnswer {
    questions.append(question)
    executed.append(writes)
    meanwhile(question)
    return executes
  }

  override func authorize(_ question: Question) -> WriteAnswer {
    questions.append(question)
    meanwhile(question)
    return authorizations[question.handle] ?? super.authorize(question)
  }
}
