import AttoFormats

/// Numbers of values, as ranges in the order in which they were added. Keeps the first ``limit`` ranges.
struct NumberList: Sendable {
  static let limit = 8

  private var ranges: [ClosedRange<UInt32>] = []
  private var isCut = false

  mutating func add(_ range: ClosedRange<UInt32>) {
    if let last = ranges.last, last.upperBound < .max, last.upperBound + 1 == range.lowerBound,
      !isCut
    {
      ranges[ranges.count - 1] = last.lowerBound...range.upperBound
    } else if ranges.count < Self.limit {
      ranges.append(range)
    } else {
      isCut = true
    }
  }

  /// Removes a number that has arrived after all.
  mutating func remove(_ number: UInt32) {
    guard let index = ranges.firstIndex(where: { $0.contains(number) }) else { return }
    let range = ranges[index]
    var parts: [ClosedRange<UInt32>] = []
    if number > range.lowerBound { parts.append(range.lowerBound...number - 1) }
    if number < range.upperBound { parts.append(number + 1...range.upperBound) }
    ranges.replaceSubrange(index...index, with: parts)
  }

  /// Such as `3, 7-9`; nil if there are none.
  var text: String? {
    guard !ranges.isEmpty else { return nil }
    let parts = ranges.prefix(Self.limit).map {
      $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)"
    }
    return parts.joined(separator: ", ") + (isCut || ranges.count > Self.limit ? ", ..." : "")
  }
}

/// Counts and names the faults in a numbered sequence of values, at its receiver.
struct ValueFaults: Sendable {
  /// Whether the values have check sums.
  var hasCheckSums = false
  /// After so many numbers the values begin again; nil: after 2^32.
  private let modulus: UInt32?
  private var lastNumber: Int64?
  private(set) var sequence = SequenceCount()
  private(set) var damaged: UInt64 = 0
  private var lostNumbers = NumberList()
  private var doubledNumbers = NumberList()
  private var lateNumbers = NumberList()
  private var damagedPlaces = NumberList()

  /// The numbers behind the counts, for people; absent where there are none.
  struct Names: Codable, Sendable, Equatable {
    var lost: String?
    var doubled: String?
    var outOfOrder: String?
    /// The places of damaged values among those received, from 0: their numbers cannot be trusted.
    var damaged: String?
  }

  init(modulus: UInt32? = nil) { self.modulus = modulus }

  /// Counts a received value.
  ///
  /// - Parameter number: nil if the value is damaged.
  mutating func receive(_ number: UInt32?) {
    guard let number = number.map({ lifted($0) }) else {
      let place = UInt32(truncatingIfNeeded: sequence.received &+ damaged)
      damagedPlaces.add(place...place)
      damaged += 1
      return
    }
    switch sequence.receive(number) {
    case .next: break
    case .ahead(let count) where number >= count: lostNumbers.add(number - count...number - 1)
    case .ahead: break
    case .doubled: doubledNumbers.add(number...number)
    case .outOfOrder:
      lostNumbers.remove(number)
      lateNumbers.add(number...number)
    }
  }

  /// The number of a value that is not said whole: the nearest to those before it.
  private mutating func lifted(_ number: UInt32) -> UInt32 {
    guard let modulus = modulus.map(Int64.init) else { return number }
    guard let last = lastNumber else {
      lastNumber = Int64(number)
      return number
    }
    var ahead = ((Int64(number) - last) % modulus + modulus) % modulus
    if ahead > modulus / 2 { ahead -= modulus }
    lastNumber = max(last, last + ahead)
    return UInt32(truncatingIfNeeded: last + ahead)
  }

  var names: Names? {
    let names = Names(
      lost: lostNumbers.text, doubled: doubledNumbers.text, outOfOrder: lateNumbers.text,
      damaged: damagedPlaces.text)
    return names == Names() ? nil : names
  }
}
