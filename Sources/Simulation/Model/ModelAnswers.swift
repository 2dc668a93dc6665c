import GATT

/// What the application has answered about one bearer's requests, in order: the model takes it
/// from here instead of asking a second time.
struct ModelAnswers {
  struct Entry {
    let kind: Question.Kind
    let handle: UInt16
    let answer: LateAnswer
    /// The application changed the database while it was asked.
    var changedDatabase = false
    /// Which request of the bearer it is for, counted from 0.
    var request = 0
  }

  private(set) var entries: [Entry] = []
  /// The request that is judged now.
  private(set) var request = 0

  mutating func append(_ entry: Entry) { entries.append(entry) }

  /// The answer to this question; a request is given the same as often as it asks.
  func take(_ kind: Question.Kind, _ handle: UInt16) -> Entry? {
    entries.first { $0.request == request && $0.kind == kind && $0.handle == handle }
  }

  /// Whether the application changed the database while it was asked for a value or for leave, and
  /// of which attribute. What it does in a write comes after the question.
  func change() -> UInt16? {
    entries.first { $0.request == request && $0.changedDatabase && $0.kind != .write }?.handle
  }

  /// The request is answered: what was said of it is spent.
  mutating func end() {
    entries.removeAll { $0.request <= request }
    request += 1
  }

  mutating func removeAll() { entries = [] }
}

/// Why the model's answer to a request is an error, or cannot be told.
enum ModelHalt: Error {
  case refused(UInt8, UInt16)
  /// A question that nobody has answered yet: there should be no response.
  case unanswered(Question.Kind, UInt16)
}
