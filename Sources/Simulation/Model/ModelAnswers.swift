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
  }

  private(set) var entries: [Entry] = []
  /// Which of them the request that is judged now has used.
  private var used: [Int] = []

  mutating func append(_ entry: Entry) { entries.append(entry) }

  mutating func begin() { used = [] }

  /// The first answer to this question that has not been spent on an earlier request; a request
  /// is given the same answer as often as it asks.
  mutating func take(_ kind: Question.Kind, _ handle: UInt16) -> Entry? {
    guard let index = entries.firstIndex(where: { $0.kind == kind && $0.handle == handle }) else {
      return nil
    }
    if !used.contains(index) { used.append(index) }
    return entries[index]
  }

  /// Whether the application changed the database while it was asked for a value or for leave, and
  /// of which attribute. What it does in a write comes after the question.
  mutating func takeChange() -> UInt16? {
    guard let index = entries.firstIndex(where: { $0.changedDatabase && $0.kind != .write })
    else { return nil }
    used = Array(entries.indices.prefix(index + 1))
    return entries[index].handle
  }

  /// The request is answered: what it used is spent.
  mutating func end() {
    for index in used.sorted().reversed() { entries.remove(at: index) }
    used = []
  }

  mutating func removeAll() {
    entries = []
    used = []
  }
}

/// Why the model's answer to a request is an error, or cannot be told.
enum ModelHalt: Error {
  case refused(UInt8, UInt16)
  /// A question that nobody has answered yet: there should be no response.
  case unanswered(Question.Kind, UInt16)
}
