import AttoGateway
import AttoRadio

/// The devices whose presence is published.
struct PresenceTable {
  private(set) var sessions: [PresenceSession]
  private var addresses: [UInt64: Int] = [:]
  private var keys: [Int] = []
  private var privateAddresses: PrivateAddresses
  private var beacons: [Int] = []

  init(_ configurations: [PresenceConfiguration], now: Int64) {
    sessions = configurations.map { PresenceSession($0, now: now) }
    var secrets: [[UInt8]] = []
    for (index, configuration) in configurations.enumerated() {
      switch configuration.identity {
      case .address(let address): addresses[address.value] = index
      case .key(let key):
        keys.append(index)
        secrets.append(key)
      case .beacon: beacons.append(index)
      }
    }
    privateAddresses = PrivateAddresses(secrets)
  }

  /// When ``advance(to:)`` is due; nil: never.
  var nextTime: Int64? { sessions.compactMap(\.nextTime).min() }

  /// What is to be published after an advertisement, by the position of the device. An advertisement may be one of
  /// several devices: two that differ in what they are recognised by.
  mutating func receive(_ heard: Heard) -> [(index: Int, report: PresenceSession.Report)] {
    guard !sessions.isEmpty else { return [] }
    var found: [Int] = []
    if let index = addresses[heard.discovery.address.value] { found.append(index) }
    if let key = privateAddresses.key(of: heard.discovery.address) { found.append(keys[key]) }
    if !beacons.isEmpty, let beacon = Self.beacon(heard.discovery) {
      found += beacons.filter { sessions[$0].configuration.identity.matches(beacon) }
    }
    return found.compactMap { index in
      sessions[index].receive(heard.discovery.strength, at: heard.time).map { (index, $0) }
    }
  }

  mutating func advance(to time: Int64) -> [(index: Int, report: PresenceSession.Report)] {
    sessions.indices.compactMap { index in
      sessions[index].advance(to: time).map { (index, $0) }
    }
  }

  /// The 20 octets of UUID, major and minor of an iBeacon.
  private static func beacon(_ discovery: Discovery) -> [UInt8]? {
    for entry in discovery.data.manufacturerData
    where entry.company == 0x004C && entry.data.count == 23 && entry.data.starts(with: [2, 0x15]) {
      return Array(entry.data.dropFirst(2).prefix(20))
    }
    return nil
  }
}

extension PresenceConfiguration.Identity {
  fileprivate func matches(_ beacon: [UInt8]) -> Bool {
    guard case .beacon(let uuid, let major, let minor) = self, beacon.starts(with: uuid) else {
      return false
    }
    func number(_ index: Int) -> UInt16 { UInt16(beacon[index]) << 8 | UInt16(beacon[index + 1]) }
    return (major ?? number(16)) == number(16) && (minor ?? number(18)) == number(18)
  }
}
