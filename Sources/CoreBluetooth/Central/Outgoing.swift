internal import Atto

/// What waits to be sent, first in, first out.
struct Outgoing {
  enum Entry {
    case command(AttributeHandle, [UInt8])
    case start(@RadioLoop (Connection, TurnQueue.Turn) -> Void)
  }

  private var entries: [Entry] = []
  private var head = 0

  var first: Entry? { head < entries.count ? entries[head] : nil }

  mutating func append(_ entry: Entry) { entries.append(entry) }

  mutating func removeFirst() {
    head += 1
    // The room of what has gone is used again when it is the greater part.
    if head > 64, head * 2 > entries.count {
      entries.removeFirst(head)
      head = 0
    } else if head == entries.count {
      entries.removeAll(keepingCapacity: true)
      head = 0
    }
  }
}

/// Operations that take turns: one begins when the one before has ended.
///
/// An end that comes too late, after ``end()``, is known by its turn and does nothing.
struct TurnQueue {
  typealias Turn = UInt64

  private var waiting: [@RadioLoop (Turn) -> Void] = []
  private var current: Turn?
  private var last: Turn = 0

  @RadioLoop mutating func append(_ body: @escaping @RadioLoop (Turn) -> Void) {
    waiting.append(body)
    if current == nil { beginNext() }
  }

  @RadioLoop mutating func ended(_ turn: Turn) {
    guard current == turn else { return }
    beginNext()
  }

  /// Forgets those that wait; the one that is under way has no successor.
  mutating func end() {
    waiting = []
    current = nil
  }

  @RadioLoop private mutating func beginNext() {
    guard !waiting.isEmpty else { return current = nil }
    last += 1
    current = last
    waiting.removeFirst()(last)
  }
}
