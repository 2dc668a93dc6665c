/// A handler of a timer.
public protocol TimerHandler: AnyObject {
  /// Called on the loop's thread at the scheduled time or later, never earlier. The timer has ended
  /// by then; the handler may schedule another one.
  func timerFired(_ timer: TimerID)
}

/// The identity of a timer.
@frozen public struct TimerID: Hashable, Sendable {
  let token: UInt64
}

/// The timers of a loop: a binary heap ordered by deadline, then by the order of scheduling.
///
/// Each timer knows its place in the heap, so that cancelling takes O(log n) and frees its place: a
/// timeout that is set and cancelled with each request costs no memory. At most 2^32 - 1 timers.
struct TimerHeap {
  private struct Entry {
    let deadline: Int64
    let sequence: UInt64
    let slot: UInt32

    static func < (a: Entry, b: Entry) -> Bool {
      a.deadline != b.deadline ? a.deadline < b.deadline : a.sequence < b.sequence
    }
  }

  private struct Slot {
    var handler: (any TimerHandler)?
    var generation: UInt32 = 0
    var place = 0
  }

  private var heap: [Entry] = []
  private var slots: [Slot] = []
  private var free: [UInt32] = []
  private(set) var nextSequence: UInt64 = 0

  var isEmpty: Bool { heap.isEmpty }
  var count: Int { heap.count }

  var deadline: Int64? { heap.first?.deadline }

  mutating func schedule(at deadline: Int64, _ handler: any TimerHandler) -> TimerID {
    let slot: UInt32
    if let reused = free.popLast() {
      slot = reused
    } else {
      slot = UInt32(slots.count)
      slots.append(Slot())
    }
    slots[Int(slot)].handler = handler
    let entry = Entry(deadline: deadline, sequence: nextSequence, slot: slot)
    nextSequence += 1
    heap.append(entry)
    rise(entry, from: heap.count - 1)
    return TimerID(token: UInt64(slots[Int(slot)].generation) << 32 | UInt64(slot))
  }

  /// Ends a timer; false if it has fired or was cancelled before.
  mutating func cancel(_ id: TimerID) -> Bool {
    let slot = Int(id.token & 0xFFFF_FFFF)
    guard slot < slots.count, slots[slot].generation == UInt32(id.token >> 32),
      slots[slot].handler != nil
    else { return false }
    remove(at: slots[slot].place)
    return true
  }

  /// Removes the earliest timer that is due and was scheduled before `sequence`.
  mutating func dequeueDue(
    at now: Int64, before sequence: UInt64
  ) -> (id: TimerID, handler: any TimerHandler)? {
    guard let first = heap.first, first.deadline <= now, first.sequence < sequence,
      let handler = slots[Int(first.slot)].handler
    else { return nil }
    let id = TimerID(
      token: UInt64(slots[Int(first.slot)].generation) << 32 | UInt64(first.slot))
    remove(at: 0)
    return (id, handler)
  }

  private mutating func remove(at place: Int) {
    let slot = heap[place].slot
    slots[Int(slot)].handler = nil
    slots[Int(slot)].generation &+= 1
    free.append(slot)
    let last = heap.removeLast()
    guard place < heap.count else { return }
    // The last entry fills the gap and moves up or down from there.
    if place > 0, last < heap[(place - 1) / 2] {
      rise(last, from: place)
    } else {
      sink(last, from: place)
    }
  }

  private mutating func rise(_ entry: Entry, from start: Int) {
    var place = start
    while place > 0 {
      let parent = (place - 1) / 2
      guard entry < heap[parent] else { break }
      put(heap[parent], at: place)
      place = parent
    }
    put(entry, at: place)
  }

  private mutating func sink(_ entry: Entry, from start: Int) {
    var place = start
    while true {
      var child = 2 * place + 1
      guard child < heap.count else { break }
      if child + 1 < heap.count, heap[child + 1] < heap[child] { child += 1 }
      guard heap[child] < entry else { break }
      put(heap[child], at: place)
      place = child
    }
    put(entry, at: place)
  }

  private mutating func put(_ entry: Entry, at place: Int) {
    heap[place] = entry
    slots[Int(entry.slot)].place = place
  }
}
