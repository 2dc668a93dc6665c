import AttoATT

/// The topics of one gateway.
///
///     PREFIX/GATEWAY/status                          retained; last will
///     PREFIX/GATEWAY/claim                           between gateways of one name
///     PREFIX/GATEWAY/state                           retained; numbers for Home Assistant
///     PREFIX/GATEWAY/scan                            a request
///     PREFIX/GATEWAY/restart                         a request
///     PREFIX/GATEWAY/update                          a request
///     PREFIX/GATEWAY/advertisement                   advertisements
///     PREFIX/GATEWAY/DEVICE/presence                 retained; of a device that is only heard
///     PREFIX/DEVICES/DEVICE/status                   retained
///     PREFIX/DEVICES/DEVICE/sequence                 a request
///     PREFIX/DEVICES/DEVICE/requests                 a request: lists or cancels the others
///     PREFIX/DEVICES/DEVICE/pairing                  questions
///     PREFIX/DEVICES/DEVICE/passkey                  a request: the answer to a question
///     PREFIX/DEVICES/DEVICE/update                   a request
///     PREFIX/DEVICES/DEVICE/update/progress          retained
///     PREFIX/DEVICES/DEVICE/CHARACTERISTIC           values
///     PREFIX/DEVICES/DEVICE/CHARACTERISTIC/set       requests, also get and subscribe
///     .../answer                                     after a request: its answer
///
/// DEVICES is the name of the gateway, or of its fleet.
struct TopicNames: Equatable, Sendable {
  /// Octets of a level that somebody else has named.
  static let levelLimit = 64

  /// `atto/hall`.
  let gateway: String
  /// `atto/hall`, or `atto/home` in a fleet.
  let devices: String
  /// `atto/home/$fleet`, in a fleet.
  let fleet: String?

  init(prefix: String, gateway: String, fleet: String?) {
    self.gateway = "\(prefix)/\(Self.level(gateway))"
    devices = fleet.map { "\(prefix)/\(Self.level($0))" } ?? self.gateway
    self.fleet = fleet.map { "\(prefix)/\(Self.level($0))/fleet" }
  }

  var status: String { gateway + "/status" }
  var state: String { gateway + "/state" }
  var claim: String { gateway + "/claim" }
  var scan: String { gateway + "/scan" }
  var restart: String { gateway + "/restart" }
  var update: String { gateway + "/update" }
  var advertisement: String { gateway + "/advertisement" }

  func presence(of device: String) -> String { "\(gateway)/\(Self.level(device))/presence" }

  func status(of device: String) -> String { "\(devices)/\(Self.level(device))/status" }

  func pairing(_ device: String) -> String { "\(devices)/\(Self.level(device))/pairing" }

  func progress(of device: String) -> String {
    "\(devices)/\(Self.level(device))/update/progress"
  }

  func value(_ characteristic: String, of device: String) -> String {
    "\(devices)/\(Self.level(device))/\(Self.level(characteristic))"
  }

  /// The filters of all requests.
  var requestFilters: [String] {
    [
      scan, restart, update, devices + "/+/sequence", devices + "/+/passkey",
      devices + "/+/requests", devices + "/+/update",
      devices + "/+/+/set", devices + "/+/+/get", devices + "/+/+/subscribe",
    ]
  }

  /// A name as one level of a topic: `+`, `#`, `/`, `%`, control characters and a leading `$` are written
  /// as `%` and two hexadecimal digits, and what is longer than ``levelLimit`` octets is cut.
  static func level(_ name: String) -> String {
    var level = ""
    for scalar in name.unicodeScalars {
      let isForbidden =
        switch scalar {
        case "+", "#", "/", "%": true
        case "$": level.isEmpty
        default: scalar.value < 0x20 || 0x7F..<0xA0 ~= scalar.value || isNonCharacter(scalar)
        }
      let text =
        isForbidden
        ? String(scalar).utf8.map { "%" + Hex.digits($0) }.joined() : String(scalar)
      guard level.utf8.count + text.utf8.count <= levelLimit else { break }
      level += text
    }
    return level.isEmpty ? "%" : level
  }

  /// MQTT forbids them in topics.
  private static func isNonCharacter(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.isNoncharacterCodePoint
  }
}

/// What a request is about, by its topic.
enum RequestTopic: Equatable, Sendable {
  case scan
  case restart
  case updates
  case sequence(device: String)
  case passkey(device: String)
  case requests(device: String)
  case update(device: String)
  case set(device: String, characteristic: String)
  case get(device: String, characteristic: String)
  case subscribe(device: String, characteristic: String)

  init?(_ topic: String, in names: TopicNames) {
    switch topic {
    case names.scan:
      self = .scan
      return
    case names.restart:
      self = .restart
      return
    case names.update:
      self = .updates
      return
    default: break
    }
    guard topic.hasPrefix(names.devices + "/") else { return nil }
    let levels = topic.dropFirst(names.devices.count + 1)
      .split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    switch levels.count {
    case 2 where levels[1] == "sequence": self = .sequence(device: levels[0])
    case 2 where levels[1] == "passkey": self = .passkey(device: levels[0])
    case 2 where levels[1] == "requests": self = .requests(device: levels[0])
    case 2 where levels[1] == "update": self = .update(device: levels[0])
    case 3 where levels[2] == "set": self = .set(device: levels[0], characteristic: levels[1])
    case 3 where levels[2] == "get": self = .get(device: levels[0], characteristic: levels[1])
    case 3 where levels[2] == "subscribe":
      self = .subscribe(device: levels[0], characteristic: levels[1])
    default: return nil
    }
  }

  var device: String? {
    switch self {
    case .scan, .restart, .updates: nil
    case .sequence(let device), .passkey(let device), .requests(let device),
      .update(let device), .set(let device, _), .get(let device, _), .subscribe(let device, _):
      device
    }
  }
}
