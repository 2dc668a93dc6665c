import ATT

/// A client's prepared writes, first in, first out. Vol 3, Part F, 3.4.6.
///
/// One queue per client, whatever its bearers. Offsets and lengths are judged when the queue
/// is executed, not before: until then another write may change the value.
struct PrepareQueue {
  private(set) var writes: [PreparedWrite] = []
  private(set) var byteCount = 0
  /// The database that the first write was prepared for.
  private(set) var revision: UInt32 = 0

  var isEmpty: Bool { writes.isEmpty }

  mutating func append(_ write: PreparedWrite, revision: UInt32) {
    if writes.isEmpty { self.revision = revision }
    writes.append(write)
    byteCount += write.part.count
  }

  /// Empties the queue and returns what was in it.
  mutating func take() -> [PreparedWrite] {
    let taken = writes
    writes = []
    byteCount = 0
    return taken
  }
}
