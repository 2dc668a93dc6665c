internal import Atto

/// Commands and operations to send, first in, first out: the order of the app's calls.
///
/// Operations run one after another, and some of them send several requests. A command waits until the
/// operations before it have sent theirs, but not for the last response: the peer may wait for the
/// command before it responds.
struct OutgoingQueue {
  enum Entry {
    case command(AttributeHandle, [UInt8])
    case start(UInt64, @RadioLoop (Connection) -> Void)
  }

  private var entries: [Entry] = []
  private var head = 0
  /// Started operations that commands must not overtake.
  private var unsent: Set<UInt64> = []

  /// The entry to send; nil if there is none, or if it is a command that must wait.
  var first: Entry? {
    guard head < entries.count else { return nil }
    if case .command = entries[head], !unsent.isEmpty { return nil }
    return entries[head]
  }

  /// An operation begins.
  mutating func began(_ number: UInt64) { unsent.insert(number) }

  /// Commands may follow an operation: its last request has gone out, or it has ended.
  ///
  /// - Returns: whether commands had to wait for it.
  mutating func sent(_ number: UInt64) -> Bool { unsent.remove(number) != nil }

  mutating func append(_ entry: Entry) { entries.append(entry) }

  mutating func removeFirst() {
    head += 1
    // Frees the sent entries when they are the greater part.
    if head > 64, head * 2 > entries.count {
      entries.removeFirst(head)
      head = 0
    } else if head == entries.count {
      entries.removeAll(keepingCapacity: true)
      head = 0
    }
  }
}
