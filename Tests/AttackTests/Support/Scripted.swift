import ATT
import GATT

/// An application that answers as a test tells it to, and remembers what it was asked.
final class Scripted: Application {
  var reads: [AttributeHandle: ReadAnswer] = [:]
  var questions: [Question] = []
  /// Called with each question before it is answered.
  var meanwhile: (Question) -> Void = { _ in }

  override func read(_ question: Question, offset: Int) -> ReadAnswer {
    questions.append(question)
    meanwhile(question)
    return reads[question.handle] ?? super.read(question, offset: offset)
  }

  override func write(_ question: Question, _ value: RawSpan) -> WriteAnswer {
    questions.append(question)
    meanwhile(question)
    return .accepted
  }
}
