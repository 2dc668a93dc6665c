import AttoGATT

/// The application's answers to the requests of one bearer, in order. The model uses them instead
/// of asking again.
struct ModelAnswers {
  struct Entry {
    let kind: Question.Kind
    let handle: UInt16
    let answer: LateAnswer
    /// Whether the application changed the database while it was asked.
    var changedDatabase = false
    /// The index of the request on the bearer.
    var request = 0
  }

  private(set) var entries: [Entry] = []
  /// The index of the request that is checked now.
  private(set) var request = 0

  mutating func append(_ entry: Entry) { entries.append(entry) }

  /// The answer to a question. Asking again returns the same one.
  func entry(_ kind: Question.Kind, _ handle: UInt16) -> Entry? {
    entries.first { $0.request == request && $0.kind == kind && $0.handle == handle }
  }

  /// The handle of a question, other than a write, during which the application changed the
  /// database; nil if there is none. A write changes it after the question.
  func change() -> UInt16? {
    entries.first { $0.request == request && $0.changedDatabase && $0.kind != .write }?.handle
  }

  /// Removes the answers of a request that has been answered.
  mutating func end() {
    entries.removeAll { $0.request <= request }
    request += 1
  }

  mutating func removeAll() { entries = [] }
}

/// Why the expected response is an error or unknown.
enum ModelHalt: Error {
  case refused(UInt8, UInt16)
  /// A question without an answer yet, so there should be no response.
  case unanswered(Question.Kind, UInt16)
}
