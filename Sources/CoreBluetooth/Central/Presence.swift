internal import Atto

/// The devices that a scan has told of, and when each was last received: for scans that say after
/// how long a silent one has gone.
///
/// On the kernel's radio every advertisement is a sign. The virtual air tells of an advertisement
/// once, and of its end: a device is there in between. Devices: at most ``limit``.
struct Presence {
  static let limit = 1024

  private let time: Duration
  private let isToldOfEnds: Bool
  /// nil: it is there.
  private var seen: [BluetoothAddress: ContinuousClock.Instant?] = [:]

  /// - Parameter isToldOfEnds: whether the radio tells of each end by itself.
  init(after time: Duration, isToldOfEnds: Bool) {
    self.time = time
    self.isToldOfEnds = isToldOfEnds
  }

  /// How often to look.
  var pause: Duration { max(time / 4, .milliseconds(20)) }

  mutating func received(_ peer: BluetoothAddress, at now: ContinuousClock.Instant) {
    guard seen[peer] != nil || seen.count < Self.limit else { return }
    seen.updateValue(isToldOfEnds ? nil : now, forKey: peer)
  }

  /// The radio has told of its end. One that is silent already keeps its time.
  ///
  /// - Returns: false if it is none of those that are watched, so that its end is its end.
  @discardableResult
  mutating func ended(_ peer: BluetoothAddress, at now: ContinuousClock.Instant) -> Bool {
    guard let last = seen[peer] else { return false }
    if last == nil { seen.updateValue(now, forKey: peer) }
    return true
  }

  /// Those whose time is over; they are forgotten.
  mutating func takeGone(at now: ContinuousClock.Instant) -> [BluetoothAddress] {
    let gone = seen.compactMap { peer, last in
      if let last, now - last >= time { peer } else { nil }
    }
    for peer in gone { seen[peer] = nil }
    return gone.sorted { $0.value < $1.value }
  }
}
