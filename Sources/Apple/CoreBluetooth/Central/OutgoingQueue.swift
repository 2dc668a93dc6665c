internal import Atto

/// Commands and operations to send, first in, first out.
struct OutgoingQueue {
  enum Entry {
    case command(AttributeHandle, [UInt8])
    case start(@RadioLoop (Connection) -> Void)
  }

  private var entries: [Entry] = []
  private var head = 0

  var first: Entry? { head < entries.count ? entries[head] : nil }

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
