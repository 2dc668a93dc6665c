import AttoATT
import AttoGATT

/// The future events in order of time, and of insertion at the same time.
struct Agenda {
  enum Event {
    /// A device acts.
    case act(Device)
    /// A handler answers.
    case answer(LateAnswerOfHandler)
    /// A link is lost.
    case lose(Connection)
    /// A channel is closed.
    case close(LinkEnd)
    /// A consumer resumes reading.
    case resume(LinkEnd)
  }

  /// A late answer of a handler.
  struct LateAnswerOfHandler {
    let question: Question
    let answer: LateAnswer
    let end: LinkEnd
    let effect: () -> Void
  }

  private struct Entry {
    let at: Instant
    let event: Event
  }

  private var entries: [Entry] = []

  var first: Instant? { entries.last?.at }

  /// Sorted with the earliest last, because there are few entries.
  mutating func add(_ event: Event, at moment: Instant) {
    let place = entries.firstIndex { $0.at <= moment } ?? entries.count
    entries.insert(Entry(at: moment, event: event), at: place)
  }

  mutating func removeFirst(until now: Instant) -> Event? {
    guard let last = entries.last, last.at <= now else { return nil }
    entries.removeLast()
    return last.event
  }
}
