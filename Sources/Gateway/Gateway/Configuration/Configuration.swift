import Atto
import AttoLinks
import Glibc

/// What a gateway is to do: the content of its file.
package struct Configuration: Equatable, Sendable {
  /// The gateway's name: 1 to 64 of the letters a to z, digits, `-` and `_`, in either case.
  package var name: String
  /// The adapters: `air`, or `hciN`.
  package var adapters: [AdapterName] = [.air]
  /// ESPHome's native API; nil: it is not served.
  package var esphome: ESPHome?
  /// The connection to an MQTT broker; nil: there is none.
  package var mqtt: MQTT?
  /// Devices whose links are held.
  package var devices: [DeviceConfiguration] = []
  /// Devices whose advertisements carry their readings.
  package var sensors: [SensorConfiguration] = []
  /// Devices whose presence is published.
  package var presence: [PresenceConfiguration] = []
  /// Whether passkeys and comparisons that the configuration does not answer are asked over the front ends.
  package var asksPasskeys = false
  /// What becomes of advertisements.
  package var advertisements = Advertisements()
  /// The gateways with this name share the devices through the broker; nil: this one is alone.
  package var fleet: String?
  /// The folder of the Unix sockets `NAME.att` through which local programs use the devices; nil: there
  /// are none.
  package var endpoints: String?
  /// The ID of the group whose members may use those sockets; nil: only this user and root.
  package var endpointsGroup: UInt32?
  /// The path of the store; nil: AttoStore's usual one.
  package var store: String?
  /// The folder of the status socket and the queue; nil: `$STATE_DIRECTORY`, or none.
  package var state: String?
  /// The folder of firmware images for updates; nil: there are no updates.
  package var firmware: String?
  /// Where metrics and the status page are served; nil: nowhere.
  package var metrics: ListeningPlace?
  /// The password of the page at which people answer devices that pair; nil: there is no such page.
  package var pageToken: String?
  /// The least serious messages that are logged.
  package var log = LogLevel.info
  package var limits = Limits()

  /// The folder ``state``, or `$STATE_DIRECTORY`; nil: there is none.
  package var stateFolder: String? {
    if let state { return state }
    let folder = getenv("STATE_DIRECTORY").map { String(cString: $0) } ?? ""
    return folder.isEmpty ? nil : folder
  }

  /// A gateway with this name that does nothing.
  package init(name: String) { self.name = name }

  /// Limits of the gateway.
  package struct Limits: Equatable, Sendable {
    /// Links at one time, 1 to 1024.
    package var connections = 64
    /// Devices that are known at one time, configured ones included, 1 to 4096.
    package var devices = 512
    /// Attempts to connect at one time on each adapter, 2 to 16.
    package var attempts = 4
    /// The time for one attempt, 1 to 60 s.
    package var attemptTime: Duration = .seconds(10)
    /// Clients of a device's Unix socket, 1 to 64.
    package var clients = 8

    package init() {}
  }

  /// Advertisements of all devices.
  package struct Advertisements: Equatable, Sendable {
    /// Whether they are forwarded to the broker.
    package var forward = false
    /// The time in which an advertisement that does not change is forwarded once, 0 to 3600 s; 0: each
    /// that is received is forwarded.
    package var repeatTime: Duration = .seconds(10)
    /// Whether scan responses are asked for; nil: ``Configuration/scansActively`` decides.
    package var active: Bool?
    /// When the adapters of the kernel listen; nil: as the kernel has it.
    package var timing: ScanTiming?
    /// Forwards only devices that advertise one of these services; empty: all.
    package var services: [BluetoothUUID] = []
    /// Forwards only devices with data of one of these companies; empty: all.
    package var companies: [UInt16] = []
    /// Forwards only devices that are received at least this strong, in dBm; nil: all.
    package var minimumRSSI: Int8?

    package init() {}
  }

  /// ESPHome's native API.
  package struct ESPHome: Equatable, Sendable {
    /// Where clients connect. Without encryption, only from this machine unless it is given.
    package var listen = ListeningPlace.internet(host: "0.0.0.0", port: 6053)
    /// The key of 32 octets; nil: without encryption.
    package var key: [UInt8]?
    /// The file that the key was read from; nil: the configuration's own.
    package var keyFile: String?
    /// The name that people see; nil: the gateway's.
    package var friendlyName: String?
    /// Clients at one time, 1 to 256.
    package var clients = 16
    /// Whether mDNS announces the server; nil: if other machines can reach it.
    package var mdns: Bool?
    package var isAnnounced: Bool { mdns ?? !listen.isLocal }

    package init() {}
  }
}

/// The name of an adapter.
package enum AdapterName: Hashable, Sendable, CustomStringConvertible {
  /// A radio of the virtual air.
  case air
  /// The kernel's hciN.
  case hci(UInt16)

  /// Reads `air` or `hciN`.
  package init?(_ text: String) {
    if text == "air" {
      self = .air
    } else if let number = L2CAPSource.index(ofAdapter: text) {
      self = .hci(number)
    } else {
      return nil
    }
  }

  package var description: String {
    switch self {
    case .air: "air"
    case .hci(let number): "hci\(number)"
    }
  }
}

/// A place to listen at: `HOST:PORT`, `[IPv6]:PORT` or `unix:PATH`.
package enum ListeningPlace: Equatable, Sendable, CustomStringConvertible {
  /// A numeric address and a port; port 0 lets the system choose one.
  case internet(host: String, port: UInt16)
  /// A path.
  case unix(path: String)

  package var description: String {
    switch self {
    case .internet(let host, let port):
      host.utf8.contains(0x3A) ? "[\(host)]:\(port)" : "\(host):\(port)"
    case .unix(let path): "unix:\(path)"
    }
  }
}

extension ListeningPlace {
  /// The address of the status page; nil: browsers cannot reach it, or the address is that of all interfaces.
  package var page: String? {
    guard case .internet(let host, _) = self, host != "0.0.0.0", host != "::" else { return nil }
    return "http://\(self)/"
  }
}

/// How serious a message is, numbered as in syslog.
package enum LogLevel: Int, CaseIterable, Comparable, Sendable {
  case error = 3
  case warning = 4
  case notice = 5
  case info = 6
  case debug = 7

  package static func < (a: LogLevel, b: LogLevel) -> Bool { a.rawValue < b.rawValue }
}
