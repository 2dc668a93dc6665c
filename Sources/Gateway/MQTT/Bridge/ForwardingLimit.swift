import AttoEventLoop
import AttoGateway
import AttoLinks
import AttoRadio

/// Which of the advertisements that are received are forwarded.
///
/// # Theory
/// A device repeats its advertisement up to 50 times a second, and mostly says the same. What says the same
/// is forwarded once in a time. What says something else is forwarded at once, while the device has
/// tokens: it begins with ``burst`` of them, each costs one, and one is added each ``changeTime``. A device without
/// tokens, which changes what it says all the time, is heard again soon: then it has one, and what it
/// says then is forwarded. Strength of the signal is not content.
///
/// # Limits
/// ``deviceLimit`` devices. Beyond it the one that was forwarded longest ago is forgotten, and is new again.
struct ForwardingLimit {
  static let deviceLimit = 4096
  static let burst = 4
  static let changeTime: Duration = .seconds(1)

  private struct Device {
    var advertisement: [UInt8]
    var scanResponse: [UInt8]
    var isConnectable: Bool
    /// When it was forwarded last.
    var time: Int64
    var tokens: Int
    /// When the last of them was added.
    var added: Int64

    func says(_ discovery: Discovery) -> Bool {
      advertisement == discovery.advertisement && scanResponse == discovery.scanResponse
        && isConnectable == discovery.isConnectable
    }
  }

  private let repeatTime: Int64
  private var devices: [BluetoothAddress: Device] = [:]

  /// - Parameter repeatTime: 0: everything is forwarded.
  init(every repeatTime: Duration) { self.repeatTime = repeatTime.inNanoseconds }

  var count: Int { devices.count }

  /// Has all devices forwarded again: what was forwarded may not have arrived.
  mutating func forget() { devices = [:] }

  /// Whether an advertisement is to be forwarded; then it counts as forwarded. By the times of what was heard,
  /// which do not go back.
  mutating func takes(_ heard: Heard) -> Bool {
    guard repeatTime > 0 else { return true }
    let (discovery, now) = (heard.discovery, heard.time)
    let known = devices[discovery.address]
    var device =
      known
      ?? Device(
        advertisement: [], scanResponse: [], isConnectable: false, time: 0, tokens: Self.burst,
        added: now)
    let step = Self.changeTime.inNanoseconds
    let new = max(0, (now - device.added) / step)
    device.added += new * step
    device.tokens = Int(min(Int64(Self.burst), Int64(device.tokens) + new))
    if let known, known.says(discovery) {
      guard now - device.time >= repeatTime else { return false }
    } else {
      guard device.tokens > 0 else { return false }
      device.tokens -= 1
    }
    device.advertisement = discovery.advertisement
    device.scanResponse = discovery.scanResponse
    device.isConnectable = discovery.isConnectable
    device.time = now
    if known == nil { makeRoom() }
    devices[discovery.address] = device
    return true
  }

  private mutating func makeRoom() {
    guard devices.count >= Self.deviceLimit,
      let oldest = devices.min(by: { $0.value.time < $1.value.time })
    else { return }
    devices[oldest.key] = nil
  }
}
