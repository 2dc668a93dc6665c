import ATT

/// PDUs that a ``FaultyLink`` keeps back in one direction, each until its moment, in order.
struct HeldPDUs {
  /// More than this are not kept: the link blocks.
  static let limit = 1024

  struct Held {
    let pdu: [UInt8]
    /// The PDU's own length, if the link below cut it.
    let truncatedFrom: Int?
    let release: Instant
  }

  private var queue: [Held] = []
  private var head = 0

  var isEmpty: Bool { head == queue.count }
  /// Two places are left free, for a PDU and its duplicate.
  var isFull: Bool { queue.count - head > HeldPDUs.limit - 2 }
  var first: Held? { isEmpty ? nil : queue[head] }

  /// Keeps a PDU until `release`, or until the one before it if that is later.
  mutating func append(_ pdu: [UInt8], truncatedFrom: Int? = nil, until release: Instant) {
    let earliest = isEmpty ? release : queue[queue.count - 1].release
    queue.append(
      Held(pdu: pdu, truncatedFrom: truncatedFrom, release: max(release, earliest)))
  }

  mutating func removeFirst() {
    head += 1
    if head == queue.count || head >= HeldPDUs.limit {
      queue.removeFirst(head)
      head = 0
    }
  }

  mutating func removeAll() {
    queue = []
    head = 0
  }
}
