import Atto
import AttoATT
import AttoFormats

/// A mistake in a configuration, with its position in the file.
package typealias ConfigurationError = ProfileError

extension Configuration {
  /// Reads a file, of at most 4 MiB, and the keys in the files that it names. Blocks on the disk, and for
  /// no pipe's writer: a running gateway reads its files again, on a signal.
  ///
  /// - Throws: ``ConfigurationError`` for the first mistake.
  package init(contentsOfFile path: String) throws(ConfigurationError) {
    try self.init(json: ProfileField.bytes(ofFile: path, waits: false), file: path)
  }

  /// Reads UTF-8 JSON, and the keys in the files that it names.
  ///
  /// - Parameter file: the name of the file in messages.
  /// - Throws: ``ConfigurationError`` for the first mistake.
  package init(json: [UInt8], file: String? = nil) throws(ConfigurationError) {
    self = try ProfileField.read(json, file: file) { (field) throws(ProfileError) in
      try Configuration(field)
    }
  }

  static let keys = [
    "name", "adapters", "esphome", "mqtt", "devices", "sensors", "presence", "advertisements",
    "fleet",
    "endpoints",
    "endpointsGroup", "store", "state", "firmware", "metrics", "pageToken", "log", "limits",
    "askPasskeys",
  ]

  private init(_ field: ProfileField) throws(ProfileError) {
    let object = try ProfileObject(field, keys: Self.keys)
    self.init(name: try Self.name(object))
    if let field = object["adapters"] { adapters = try Self.adapters(field) }
    esphome = try object["esphome"].map(ESPHome.init)
    mqtt = try object["mqtt"].map(MQTT.init)
    if let field = object["advertisements"] { advertisements = try Advertisements(field) }
    asksPasskeys = try object["askPasskeys"]?.bool ?? false
    metrics = try object["metrics"]?.listeningPlace
    pageToken = try object["pageToken"]?.token
    if pageToken != nil, metrics == nil || !asksPasskeys {
      throw ProfileError(
        object.path / "pageToken",
        expected: "the keys \"metrics\" and \"askPasskeys\" beside it", found: "not both")
    }
    if asksPasskeys, mqtt == nil, esphome == nil, pageToken == nil {
      throw ProfileError(
        object.path / "askPasskeys",
        expected: "the key \"mqtt\", \"esphome\" or \"pageToken\" beside it", found: "none")
    }
    fleet = try object["fleet"]?.name
    if fleet != nil, mqtt == nil {
      throw ProfileError(
        object.path / "fleet", expected: "the key \"mqtt\" beside it: a fleet shares a broker",
        found: "none")
    }
    if fleet != nil, mqtt?.connectsAny ?? false {
      throw ProfileError(
        object.path / "mqtt" / "connectAny",
        expected: "false in a fleet, whose gateways share the devices that are configured",
        found: "true")
    }
    endpoints = try object["endpoints"]?.folder
    endpointsGroup = try object["endpointsGroup"]?.group
    store = try object["store"]?.filePath
    state = try object["state"]?.filePath
    firmware = try object["firmware"]?.folder
    if let field = object["log"] {
      let words = LogLevel.allCases.map { "\($0)" }
      let word = try field.word(words)
      log = LogLevel.allCases[words.firstIndex(of: word) ?? 0]
    }
    if let field = object["limits"] { limits = try Limits(field) }
    for field in try object["devices"]?.list ?? [] {
      let device = try DeviceConfiguration(field)
      guard devices.count < limits.devices else {
        throw ProfileError(
          field.path, expected: "at most \(limits.devices) devices (limits.devices)",
          found: "another")
      }
      guard !devices.contains(where: { $0.name == device.name }) else {
        throw ProfileError(
          field.path / "name", expected: "each name once", found: "\"\(device.name)\" again")
      }
      if let other = devices.first(where: { $0.match == device.match }) {
        throw ProfileError(
          field.path / "match", expected: "another device than \"\(other.name)\"",
          found: "the same")
      }
      guard device.firmware == nil || firmware != nil else {
        throw ProfileError(
          field.path / "firmware",
          expected: "the key \"firmware\" of the gateway too: the folder of the images",
          found: "none")
      }
      devices.append(device)
    }
    if let field = object["sensors"] {
      sensors = try SensorConfiguration.list(field, besides: devices.map(\.name))
      guard sensors.isEmpty || mqtt != nil else {
        throw ProfileError(
          field.path, expected: "the key \"mqtt\" beside it: readings go to a broker", found: "none"
        )
      }
    }
    if let field = object["presence"] {
      presence = try PresenceConfiguration.list(
        field, besides: devices.map(\.name) + sensors.map(\.name))
      guard presence.isEmpty || mqtt != nil else {
        throw ProfileError(
          field.path, expected: "the key \"mqtt\" beside it: presence goes to a broker",
          found: "none")
      }
    }
  }

  /// The name, or else the host's without its domain.
  private static func name(_ object: ProfileObject) throws(ProfileError) -> String {
    if let field = object["name"] { return try field.name }
    guard let name = HostName.gatewayName else {
      throw ProfileError(
        object.path,
        expected: "the key \"name\", the gateway's name, because this host has no name",
        found: "none")
    }
    return name
  }

  private static func adapters(_ field: ProfileField) throws(ProfileError) -> [AdapterName] {
    var names: [AdapterName] = []
    for field in try field.list {
      let expected = "\"air\" or the name of an adapter such as \"hci0\""
      guard let name = AdapterName(try field.string(expected)) else {
        throw field.mistake(expected)
      }
      guard !names.contains(name) else {
        throw ProfileError(field.path, expected: "each adapter once", found: "\"\(name)\" again")
      }
      names.append(name)
    }
    guard !names.isEmpty else {
      throw ProfileError(field.path, expected: "at least one adapter", found: "an empty list")
    }
    return names
  }
}

extension Configuration.Limits {
  static let keys = ["connections", "devices", "attempts", "attemptSeconds", "clients"]

  fileprivate init(_ field: ProfileField) throws(ProfileError) {
    let object = try ProfileObject(field, keys: Self.keys)
    self.init()
    connections = try object["connections"]?.integer(1...1024) ?? connections
    devices = try object["devices"]?.integer(1...4096) ?? devices
    attempts = try object["attempts"]?.integer(2...16) ?? attempts
    if let field = object["attemptSeconds"] { attemptTime = try field.seconds(1...60) }
    clients = try object["clients"]?.integer(1...64) ?? clients
  }
}

extension Configuration.Advertisements {
  static let keys = [
    "forward", "repeatSeconds", "active", "scanWindowMilliseconds", "scanIntervalMilliseconds",
    "services", "companies", "minimumRSSI",
  ]

  fileprivate init(_ field: ProfileField) throws(ProfileError) {
    let object = try ProfileObject(field, keys: Self.keys)
    self.init()
    forward = try object["forward"]?.bool ?? forward
    if let field = object["repeatSeconds"] { repeatTime = try field.seconds(0...3600) }
    active = try object["active"]?.bool ?? active
    timing = try Self.timing(object)
    for field in try object["services"]?.list ?? [] { services.append(try field.uuid) }
    for field in try object["companies"]?.list ?? [] { companies.append(try field.company) }
    if let rssi = try object["minimumRSSI"]?.integer(-127...20, unit: " of dBm") {
      minimumRSSI = Int8(rssi)
    }
  }

  private static func timing(_ object: ProfileObject) throws(ProfileError) -> ScanTiming? {
    func time(_ key: String) throws(ProfileError) -> Duration? {
      try object[key]?.milliseconds(3...10_240)
    }
    let window = try time("scanWindowMilliseconds")
    let interval = try time("scanIntervalMilliseconds")
    guard window != nil || interval != nil else { return nil }
    guard let window, let interval, let timing = ScanTiming(interval: interval, window: window)
    else {
      throw ProfileError(
        object.path / (window == nil ? "scanIntervalMilliseconds" : "scanWindowMilliseconds"),
        expected:
          "both scanWindowMilliseconds and scanIntervalMilliseconds, the window at most the interval",
        found: window == nil || interval == nil ? "one of them" : "a longer window")
    }
    return timing
  }
}

extension Configuration.ESPHome {
  static let keys = ["listen", "key", "keyFile", "encryption", "friendlyName", "clients", "mdns"]

  fileprivate init(_ field: ProfileField) throws(ProfileError) {
    let object = try ProfileObject(field, keys: Self.keys)
    self.init()
    if let field = object["listen"] {
      listen = try field.listeningPlace
      if case .unix = listen { throw field.mistake("an address and a port") }
    }
    friendlyName = try object["friendlyName"]?.text(limit: 120)
    clients = try object["clients"]?.integer(1...256) ?? clients
    mdns = try object["mdns"]?.bool
    let isEncrypted = try object["encryption"]?.bool ?? true
    switch (object["key"], object["keyFile"]) {
    case (let field?, nil): key = try field.key(try field.string("32 octets in base64"))
    case (nil, let field?):
      key = try field.key(try field.firstLine())
      keyFile = try field.filePath
    case (_?, let field?):
      throw ProfileError(
        field.path, expected: "one of \"key\" and \"keyFile\"", found: "both")
    case (nil, nil) where isEncrypted:
      throw ProfileError(
        object.path, expected: "the key \"key\", 32 octets in base64, or \"encryption\": false",
        found: "neither")
    case (nil, nil): break
    }
    if !isEncrypted, key != nil {
      throw ProfileError(
        object.path / "encryption", expected: "true beside a key", found: "false")
    }
    if !isEncrypted, object["listen"] == nil { listen = .internet(host: "127.0.0.1", port: 6053) }
  }
}
