/// Operations and octets over time, in at most ``limit`` slots. When all are used, pairs of slots are
/// merged.
struct RateOverTime: Sendable {
  static let limit = 240
  struct Slot: Sendable {
    var count: UInt64 = 0
    var octets: UInt64 = 0
  }

  /// Nanoseconds of each slot.
  private(set) var width: Int64 = 50_000_000
  private(set) var slots: [Slot] = []

  /// - Parameter time: nanoseconds since the measurement began.
  mutating func add(octets: Int, at time: Int64) {
    var index = Int(max(0, time) / width)
    while index >= Self.limit {
      slots = stride(from: 0, to: slots.count, by: 2).map { first in
        slots[first..<min(first + 2, slots.count)].reduce(into: Slot()) { joined, slot in
          joined.count += slot.count
          joined.octets += slot.octets
        }
      }
      width *= 2
      index = Int(time / width)
    }
    while slots.count <= index { slots.append(Slot()) }
    slots[index].count += 1
    slots[index].octets += UInt64(octets)
  }
}
