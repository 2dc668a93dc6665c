import Atto
import AttoLinks

/// An adapter of a hub, open or not. The loop's thread only.
final class Radio {
  let name: AdapterName
  var adapter: Adapter?
  var phase = ScannerState.Phase.idle
  /// What was logged last.
  var failure: RadioError?
  /// Keeps the adapter open and scanning.
  var task: Task<Void, Never>?
  /// Whether the adapter has failed to scan passively.
  var cannotScanPassively = false
  /// Whether the kernel has refused to set when the adapter listens.
  var cannotTimeScans = false
  /// Consumes the present scan.
  var scan: Task<RadioError?, Never>?
  /// The devices that are on the air.
  var present: [BluetoothAddress: Heard] = [:]
  /// Devices in ``present``. Beyond it they are all forgotten.
  static let presentLimit = 8192

  init(_ name: AdapterName) { self.name = name }

  /// The device on the air with this address. On the virtual air all addresses are random ones.
  func heard(_ address: BluetoothAddress) -> Heard? {
    present[name == .air ? BluetoothAddress(address.value, kind: .random) : address]
  }
}

/// An advertisement as an adapter received it.
package struct Heard: Equatable, Sendable {
  package var discovery: Discovery
  package var adapter: AdapterName
  /// When, in nanoseconds of the loop's clock.
  package var time: Int64
}

extension Discovery {
  /// Signal strength in dBm; nil if the controller does not report it.
  package var strength: Int8? { rssi == 127 ? nil : rssi }
  /// Orders discoveries by their strength, unknown ones last.
  var rank: Int8 { strength ?? .min }
}

/// What the scanners of all adapters do.
package struct ScannerState: Equatable, Sendable {
  package enum Phase: Equatable, Sendable {
    case idle
    case starting
    case running
    /// The adapter cannot scan, or cannot be opened.
    case failed(RadioError)
  }

  /// The best of all adapters: `running` if one of them is.
  package var phase: Phase
  /// Whether scan responses are asked for.
  package var isActive: Bool
}

/// An adapter, for the status.
package struct AdapterStatus: Equatable, Sendable {
  package var name: AdapterName
  /// All zeros while the adapter is not open.
  package var address: BluetoothAddress
  package var phase: ScannerState.Phase
  /// Links and attempts.
  package var links: Int
  /// Devices on the air.
  package var present: Int
}

/// Links that can be made.
package struct Slots: Equatable, Sendable {
  package var limit: Int
  /// The devices that have a link, or an attempt under way.
  package var allocated: [BluetoothAddress]
  package var free: Int { max(0, limit - allocated.count) }
}
