/// The watched descriptors of a loop, in slots that are reused.
///
/// An event names its slot and the slot's generation. Unwatching raises the generation, so an event
/// that the kernel has already returned matches no watch, even if the slot, or a descriptor of the
/// same number, is in use again. At most 2^32 - 1 slots; the limit on open files is lower.
struct WatchTable {
  private struct Slot {
    var handler: (any ReadinessHandler)?
    var generation: UInt32 = 0
    var descriptor: Int32 = -1
    /// Readiness to be reported. Not empty exactly while the slot is in a list of ready ones.
    var pending: Readiness = []
    /// A regular file: readable again in each turn.
    var always = false
  }

  private var slots: [Slot] = []
  private var free: [UInt32] = []

  var count: Int { slots.count - free.count }

  mutating func insert(
    _ descriptor: Int32, _ handler: any ReadinessHandler, always: Bool = false
  ) -> WatchID {
    let index: UInt32
    if let reused = free.popLast() {
      index = reused
    } else {
      index = UInt32(slots.count)
      slots.append(Slot())
    }
    slots[Int(index)].handler = handler
    slots[Int(index)].descriptor = descriptor
    slots[Int(index)].always = always
    return WatchID(token: UInt64(slots[Int(index)].generation) << 32 | UInt64(index))
  }

  /// Removes a watch and returns its descriptor; nil if it has ended before.
  mutating func remove(_ id: WatchID) -> (descriptor: Int32, polled: Bool)? {
    guard let index = index(of: id) else { return nil }
    let found = (slots[index].descriptor, !slots[index].always)
    slots[index].handler = nil
    slots[index].descriptor = -1
    slots[index].pending = []
    slots[index].generation &+= 1
    free.append(UInt32(index))
    return found
  }

  /// The descriptor of a watch; nil if it has ended.
  func descriptor(_ id: WatchID) -> (descriptor: Int32, polled: Bool)? {
    guard let index = index(of: id) else { return nil }
    return (slots[index].descriptor, !slots[index].always)
  }

  /// Adds readiness to be reported. True if the watch had none pending, and so must be listed.
  mutating func mark(_ id: WatchID, _ readiness: Readiness) -> Bool {
    guard !readiness.isEmpty, let index = index(of: id) else { return false }
    let first = slots[index].pending.isEmpty
    slots[index].pending.formUnion(readiness)
    return first
  }

  /// The handler to be called now. nil if the watch has ended, or if it has readiness pending, to
  /// which this is added.
  mutating func handler(
    of id: WatchID, _ readiness: Readiness
  ) -> (any ReadinessHandler)? {
    guard let index = index(of: id) else { return nil }
    guard slots[index].pending.isEmpty else {
      slots[index].pending.formUnion(readiness)
      return nil
    }
    return slots[index].handler
  }

  /// Removes the pending readiness of a watch and returns it with the handler; nil if the watch has
  /// ended.
  mutating func dequeue(
    _ id: WatchID
  ) -> (handler: any ReadinessHandler, readiness: Readiness, always: Bool)? {
    guard let index = index(of: id), let handler = slots[index].handler else { return nil }
    let readiness = slots[index].pending
    slots[index].pending = []
    return (handler, readiness, slots[index].always)
  }

  private func index(of id: WatchID) -> Int? {
    let index = Int(id.token & 0xFFFF_FFFF)
    guard index < slots.count, slots[index].generation == UInt32(id.token >> 32),
      slots[index].handler != nil
    else { return nil }
    return index
  }
}
