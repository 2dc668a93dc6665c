/// The rate of operations over time, in at most ``limit`` slots. When all are used, pairs of slots are
/// merged.
struct RateOverTime: Sendable {
  static let limit = 240
  /// The largest number of ``steps``.
  static let stepLimit = 60

  private struct Slot: Sendable {
    var count: UInt64 = 0
    /// The longest pause before one of its operations, in nanoseconds.
    var pause: Int64 = -1
    /// When that pause began, and how many of the operations came before it.
    var cut: Int64 = 0
    var countBeforeCut: UInt64 = 0

    func joined(_ next: Slot) -> Slot {
      var joined = self
      joined.count += next.count
      if next.pause > pause {
        (joined.pause, joined.cut) = (next.pause, next.cut)
        joined.countBeforeCut = count + next.countBeforeCut
      }
      return joined
    }
  }

  /// A part of the time with its mean rate.
  struct Step: Codable, Sendable, Equatable {
    /// The end of the part. It begins where the one before ends.
    var seconds: Double
    /// Operations per second.
    var rate: Double
  }

  /// Nanoseconds of each slot.
  private var width: Int64 = 50_000_000
  private var slots: [Slot] = []
  private var last: Int64 = 0

  /// - Parameter time: nanoseconds since the measurement began.
  mutating func add(at time: Int64) {
    var index = Int(max(0, time) / width)
    while index >= Self.limit {
      slots = stride(from: 0, to: slots.count, by: 2).map { first in
        first + 1 < slots.count ? slots[first].joined(slots[first + 1]) : slots[first]
      }
      width *= 2
      index = Int(time / width)
    }
    while slots.count <= index { slots.append(Slot()) }
    if time - last > slots[index].pause {
      slots[index].pause = time - last
      (slots[index].cut, slots[index].countBeforeCut) = (last, slots[index].count)
    }
    slots[index].count += 1
    last = time
  }

  /// The rate over time. A step has several operations, takes at least a slot, and ends where a pause
  /// begins: its rate does not depend on how bursts of a connection interval fall into slots.
  var steps: [Step] {
    let total = slots.reduce(0) { $0 + $1.count }
    let least = max(1, min(10, total / 8))
    let shortest = max(width, last / Int64(Self.stepLimit))
    // A burst may continue in a second slot, which has no pause worth the name.
    let pauses = slots.filter { $0.count > 0 }.map(\.pause).sorted()
    let usualPause = pauses.isEmpty ? 0 : pauses[pauses.count * 3 / 4]
    var parts: [(begin: Int64, end: Int64, count: UInt64)] = []
    var (begin, count): (Int64, UInt64) = (0, 0)
    for slot in slots {
      let upToCut = count + slot.countBeforeCut
      if upToCut >= least, slot.cut - begin >= shortest, slot.pause >= usualPause / 2 {
        parts.append((begin, slot.cut, upToCut))
        (begin, count) = (slot.cut, slot.count - slot.countBeforeCut)
      } else {
        count += slot.count
      }
    }
    if parts.isEmpty ? last > 0 : count >= least && last - begin >= shortest {
      parts.append((begin, last, count))
    } else if !parts.isEmpty {
      parts[parts.count - 1].end = last
      parts[parts.count - 1].count += count
    }
    return parts.map { part in
      Step(
        seconds: (Double(part.end) / 1e9).rounded(places: 6),
        rate: (Double(part.count) * 1e9 / Double(part.end - part.begin)).rounded(places: 3))
    }
  }
}
