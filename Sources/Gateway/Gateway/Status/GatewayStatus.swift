import Atto
import AttoFormats
import AttoLinks
import Glibc

/// What a gateway does now.
package struct GatewayStatus: Sendable {
  package var name: String
  package var version: String
  /// Since the gateway began.
  package var uptime: Duration
  /// Memory of the process in octets, as the kernel counts it.
  package var memory: Int
  package var adapters: [AdapterStatus]
  package var slots: Slots
  package var devices: [DeviceStatus]
  package var frontEnds: [(name: String, status: FrontEndStatus)]
  /// Why bonds and services are not kept; nil if they are.
  package var storeFault: String?

  /// The names of devices that ask a question while they pair.
  package var asking: [String] = []
  /// Whether there is a page to answer them.
  package var answersAtPage = false

  /// A device now.
  package struct DeviceStatus: Sendable {
    /// The configured name, or else the address.
    package var name: String
    package var address: BluetoothAddress?
    package var isConfigured: Bool
    package var state: LinkState
    package var adapter: String?
    package var rssi: Int8?
    package var counters: DeviceCounters
    package var users: [String]
    package var lastError: String?
    /// When the device was heard last; nil: never.
    package var heard: Hearing?
    /// What to do if a link is wanted and there is none.
    package var advice: String?
  }
}

extension Hub {
  /// What the hub and the front ends do now.
  ///
  /// - Parameter began: the time of the loop's clock at which the gateway began.
  package func status(
    of frontEnds: FrontEnds?, since began: Int64, version: String
  ) async -> GatewayStatus {
    let statuses = await frontEnds?.statuses ?? []
    return GatewayStatus(
      name: configuration.name, version: version, uptime: .nanoseconds(loop.now - began),
      memory: Self.residentMemory, adapters: adapters, slots: slots,
      devices: (devices + addressedDevices).map { device in
        var status = device.here { $0.status }
        status.heard = hearing(of: device)
        status.advice = advice(for: device, status.heard)
        return status
      },
      frontEnds: statuses, storeFault: storeFault.map { "\($0)" },
      asking: openQuestions.map(\.device).sorted(), answersAtPage: configuration.pageToken != nil)
  }
}

extension Device {
  /// What is shown of the device.
  package var status: GatewayStatus.DeviceStatus {
    GatewayStatus.DeviceStatus(
      name: label, address: address, isConfigured: name != nil, state: state, adapter: adapter,
      rssi: rssi, counters: counters, users: userNames, lastError: lastError.map { "\($0)" })
  }
}

extension LinkState {
  /// One word.
  package var word: String {
    switch self {
    case .idle: "idle"
    case .waiting: "waiting"
    case .connecting: "connecting"
    case .connected: "connected"
    }
  }
}

extension ScannerState.Phase {
  /// A word, or why it failed.
  package var words: String {
    switch self {
    case .idle: "idle"
    case .starting: "starting"
    case .running: "scanning"
    case .failed(let error): "\(error)"
    }
  }
}

extension Hub {
  /// Resident memory of this process in octets; 0 without /proc.
  private static var residentMemory: Int {
    let octets = (try? ProfileField.bytes(ofFile: "/proc/self/statm")) ?? []
    let fields = String(decoding: octets, as: UTF8.self).split(separator: " ")
    return fields.count > 1 ? (Int(fields[1]) ?? 0) * sysconf(Int32(_SC_PAGESIZE)) : 0
  }
}
