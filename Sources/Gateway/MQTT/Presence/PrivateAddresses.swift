import AttoATT
import AttoGATT
import AttoLinks

/// Resolves private addresses: which of some keys has made an address (Vol 6, Part B, 1.3.2.3).
///
/// An address has 24 random bits, of which the two highest are 01, and as many of their encryption with the key. A
/// device changes its address every 15 minutes or so; ``cacheLimit`` answers are remembered, so that an address costs one
/// encryption for each key once.
struct PrivateAddresses {
  /// Addresses that are remembered; beyond it all are forgotten.
  static let cacheLimit = 4096

  /// The round keys of each key.
  private let schedules: [[UInt8]]
  private var cache: [UInt64: Int?] = [:]

  /// - Parameter keys: of 16 octets, the most significant first.
  init(_ keys: [[UInt8]]) { schedules = keys.map(AES128.expand) }

  /// The position of the key that has made an address; nil: none of them.
  mutating func key(of address: BluetoothAddress) -> Int? {
    guard address.kind == .random, address.value >> 46 == 0b01, !schedules.isEmpty else {
      return nil
    }
    if let known = cache[address.value] { return known }
    let found = schedules.firstIndex {
      Self.hash($0, address.value >> 24) == address.value & 0xFF_FFFF
    }
    if cache.count >= Self.cacheLimit { cache.removeAll(keepingCapacity: true) }
    cache[address.value] = .some(found)
    return found
  }

  /// The function ah: 24 bits (Vol 3, Part H, 2.2.2).
  private static func hash(_ schedule: [UInt8], _ random: UInt64) -> UInt64 {
    var block = [UInt8](repeating: 0, count: 16)
    for index in 0..<3 {
      block[13 + index] = UInt8(truncatingIfNeeded: random >> (16 - 8 * UInt64(index)))
    }
    AES128.encrypt(&block, schedule)
    return block.suffix(3).reduce(0) { $0 << 8 | UInt64($1) }
  }
}
