import AttoATT

/// The prepared writes of a client, in order. Vol 3, Part F, 3.4.6.
///
/// A client has one queue for all its bearers. Offsets and lengths are checked when the queue is
/// executed, because other writes may change the value before.
struct PrepareQueue {
  private(set) var writes: [PreparedWrite] = []
  private(set) var byteCount = 0
  /// The revision of the database when the first write was prepared.
  private(set) var revision: UInt32 = 0

  var isEmpty: Bool { writes.isEmpty }

  mutating func append(_ write: PreparedWrite, revision: UInt32) {
    if writes.isEmpty { self.revision = revision }
    writes.append(write)
    byteCount += write.part.count
  }

  mutating func removeAll() {
    writes = []
    byteCount = 0
  }
}
