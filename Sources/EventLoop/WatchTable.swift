/// The descriptors of a loop, in slots that are used again.
///
/// An event names its slot and the slot's generation. Unwatching raises the generation, so an
/// event that the kernel had already handed out finds nobody, even if the slot, or a descriptor
/// of the same number, is in use again. At most 2^32 - 1 slots; the limit on open files comes
/// first.
struct WatchTable {
  private struct Slot {
    var handler: (any ReadinessHandler)?
    var generation: UInt32 = 0
    var descriptor: Int32 = -1
    /// What is to be delivered; not empty exactly while the slot is in a list of ready ones.
    var pending: Readiness = []
    /// A regular file: readable again in each turn.
    var always = false
  }

  private var slots: [Slot] = []
  private var free: [UInt32] = []

  /// Watches that have not ended.
  var count: Int { slots.count - free.count }

  /// Takes a slot.
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

  /// Frees a slot and gives back its descriptor; nil if the watch has ended before.
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

  /// Adds to what a watch is to be told. True if it had nothing pending and so is to be listed.
  mutating func mark(_ id: WatchID, _ readiness: Readiness) -> Bool {
    guard !readiness.isEmpty, let index = index(of: id) else { return false }
    let first = slots[index].pending.isEmpty
    slots[index].pending.formUnion(readiness)
    return first
  }

  /// Who is to be told that a watch is ready: now. nil if the watch has ended, or has something
  /// pending, to which this is added then.
  mutating func toTell(_ id: WatchID, _ readiness: Readiness) -> (any ReadinessHandler)? {
    guard let index = index(of: id) else { return nil }
    guard slots[index].pending.isEmpty else {
      slots[index].pending.formUnion(readiness)
      return nil
    }
    return slots[index].handler
  }

  /// Takes what a watch is to be told, and whom; nil if the watch has ended.
  mutating func take(
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
