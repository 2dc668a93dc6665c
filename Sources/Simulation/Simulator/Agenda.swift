import ATT
import GATT

/// What is to happen at its moment; at one moment, in the order in which it was entered.
struct Agenda {
  enum Event {
    /// A device does something.
    case act(Device)
    /// A handler answers.
    case answer(LateAnswerOfHandler)
    /// A link is lost.
    case lose(Connection)
    /// A consumer reads on.
    case resume(LinkEnd)
  }

  /// An answer that a handler has put off.
  struct LateAnswerOfHandler {
    let question: Question
    let answer: LateAnswer
    let end: LinkEnd
    let effect: () -> Void
  }

  private struct Entry {
    let at: Instant
    let number: Int
    let event: Event
  }

  private var entries: [Entry] = []
  private var count = 0

  var first: Instant? { entries.last?.at }

  /// Sorted with the earliest last: few entries, and the next one is at hand.
  mutating func add(_ event: Event, at moment: Instant) {
    count += 1
    let place = entries.firstIndex { $0.at <= moment } ?? entries.count
    entries.insert(Entry(at: moment, number: count, event: event), at: place)
  }

  mutating func takeFirst(until now: Instant) -> Event? {
    guard let last = entries.last, last.at <= now else { return nil }
    entries.removeLast()
    return last.event
  }
}
