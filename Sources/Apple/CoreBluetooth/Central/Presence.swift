internal import Atto

/// The reported devices of a scan that sets a time of silence, and when each was last received.
///
/// On the kernel's radio, every advertisement is a sign of the device. The virtual air reports the
/// beginning and the end of advertising: the device is present in between. At most ``limit`` devices.
struct Presence {
  static let limit = 1024

  private let time: Duration
  private let isToldOfEnds: Bool
  /// nil: the device is advertising.
  private var seen: [BluetoothAddress: ContinuousClock.Instant?] = [:]

  /// - Parameter isToldOfEnds: whether the radio reports the end of advertising.
  init(after time: Duration, isToldOfEnds: Bool) {
    self.time = time
    self.isToldOfEnds = isToldOfEnds
  }

  /// The interval of the checks.
  var pause: Duration { max(time / 4, .milliseconds(20)) }

  mutating func received(_ peer: BluetoothAddress, at now: ContinuousClock.Instant) {
    guard seen[peer] != nil || seen.count < Self.limit else { return }
    seen.updateValue(isToldOfEnds ? nil : now, forKey: peer)
  }

  /// Notes that the radio has reported the end of a device's advertising. A device that was silent
  /// before keeps its time.
  ///
  /// - Returns: false if the device is not watched, so that it has gone now.
  @discardableResult
  mutating func ended(_ peer: BluetoothAddress, at now: ContinuousClock.Instant) -> Bool {
    guard let last = seen[peer] else { return false }
    if last == nil { seen.updateValue(now, forKey: peer) }
    return true
  }

  /// Removes and returns the devices that have been silent for the time.
  mutating func removeGone(at now: ContinuousClock.Instant) -> [BluetoothAddress] {
    let gone = seen.compactMap { peer, last in
      if let last, now - last >= time { peer } else { nil }
    }
    for peer in gone { seen[peer] = nil }
    return gone.sorted { $0.value < $1.value }
  }
}
