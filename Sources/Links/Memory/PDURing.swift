import ATT

/// PDUs that wait, first in, first out, up to a fixed number. The places keep their storage, so
/// that a queue in use allocates nothing.
struct PDURing {
  private var places: [[UInt8]]
  private var head = 0
  private(set) var count = 0

  init(capacity: Int) {
    places = Array(repeating: [], count: capacity)
  }

  var capacity: Int { places.count }

  /// Copies a PDU to the end; false if there is no place.
  mutating func append(_ pdu: RawSpan) -> Bool {
    guard count < places.count else { return false }
    let place = (head + count) % places.count
    places[place].removeAll(keepingCapacity: true)
    pdu.withUnsafeBytes { places[place].append(contentsOf: $0) }
    count += 1
    return true
  }

  /// Appends the first PDU to `buffer`, as far as there is room, and removes it; nil if there is
  /// none.
  mutating func takeFirst(into buffer: inout OutputRawSpan) -> ReceiveOutcome? {
    guard count > 0 else { return nil }
    let room = buffer.freeCapacity
    let pdu = places[head]
    let length = pdu.count
    buffer.append(fitting: pdu.span.bytes)
    head = (head + 1) % places.count
    count -= 1
    return .pdu(truncatedFrom: length > room ? length : nil)
  }

  mutating func removeAll() {
    head = 0
    count = 0
  }
}
