import AttoATT

/// The PDUs that a ``FaultyLink`` delays in one direction, in order.
struct HeldPDUs {
  /// The most PDUs held; with more, the link blocks.
  static let limit = 1024

  struct Held {
    let pdu: [UInt8]
    /// The PDU's length, if the link below truncated it.
    let truncatedFrom: Int?
    let release: Instant
  }

  private var queue: [Held] = []

  var isEmpty: Bool { queue.isEmpty }
  /// Two places are reserved, for a PDU and its duplicate.
  var isFull: Bool { queue.count > HeldPDUs.limit - 2 }
  var first: Held? { queue.first }

  /// Holds a PDU until `release`, or until the release of the one before it if that is later.
  mutating func append(_ pdu: [UInt8], truncatedFrom: Int? = nil, until release: Instant) {
    let earliest = queue.last?.release ?? release
    queue.append(Held(pdu: pdu, truncatedFrom: truncatedFrom, release: max(release, earliest)))
  }

  mutating func removeFirst() { queue.removeFirst() }

  mutating func removeAll() { queue = [] }
}
