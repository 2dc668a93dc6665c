import AttoATT
import AttoFormats
import AttoText

extension ControlConfiguration {
  /// Controls of a device, and options of a select.
  static let limit = 64
  /// The names that the topics of a device have already.
  static let reserved = ["status", "sequence", "requests", "pairing", "passkey", "update"]

  private static let common = [
    "component", "name", "friendlyName", "characteristic", "response", "state", "optimistic",
    "deviceClass", "entityCategory", "icon",
  ]
  private static let own: [Component: [String]] = [
    .switch: ["on", "off"], .select: ["options"], .button: ["press"], .text: ["min", "max"],
    .number: ["format", "bigEndian", "scale", "min", "max", "step", "unit", "mode"],
  ]
  static let keys =
    common
    + Component.allCases.flatMap { own[$0] ?? [] }.reduce(into: []) {
      if !$0.contains($1) { $0.append($1) }
    }

  /// - Parameter device: with its characteristics, sequences, and the controls before this one.
  init(_ field: ProfileField, of device: DeviceConfiguration) throws(ProfileError) {
    let object = try ProfileObject(field, keys: Self.keys)
    let field = try object.required("component", "what Home Assistant shows")
    let words = Component.allCases
    let word = try field.word(words.map(\.rawValue))
    let component = words.first { $0.rawValue == word } ?? .switch
    for key in Self.keys {
      guard let stray = object[key] else { continue }
      let isStateless = component == .button && ["state", "optimistic"].contains(key)
      guard !isStateless, Self.common.contains(key) || Self.own[component]?.contains(key) ?? false
      else {
        throw ProfileError(stray.path, expected: "no \"\(key)\" in a \(word)", found: "one")
      }
    }
    let characteristic = try object["characteristic"]?.characteristic(device.characteristics)
    self.init(
      name: try Self.name(object, of: device), component: component,
      content: try Self.content(object, component, characteristic != nil, device),
      characteristic: characteristic)
    friendlyName = try object["friendlyName"]?.text(limit: 64)
    hasResponse = try object["response"]?.bool
    try readState(object, device)
    deviceClass = try object["deviceClass"].map { (field) throws(ProfileError) in
      try field.word(Self.classes(of: component))
    }
    entityCategory = try object["entityCategory"]?.word(["config", "diagnostic"])
    icon = try object["icon"]?.icon
  }

  private static func name(
    _ object: ProfileObject, of device: DeviceConfiguration
  ) throws(ProfileError) -> String {
    let field = try object.required("name", "the control's name")
    let name = try field.name
    let isTaken =
      device.controls.contains { $0.name == name }
      || device.characteristics.contains { $0.name == name }
    guard !isTaken else {
      throw ProfileError(
        field.path, expected: "a name that no other control and no characteristic has",
        found: "\"\(name)\" again")
    }
    guard BluetoothUUID(name) == nil, !reserved.contains(name) else {
      throw field.mistake("a name that is no UUID and none of " + reserved.joined(separator: ", "))
    }
    return name
  }

  private mutating func readState(
    _ object: ProfileObject, _ device: DeviceConfiguration
  ) throws(ProfileError) {
    guard component != .button else { return }
    let isOptimistic = try object["optimistic"]?.bool ?? false
    if let field = object["state"] {
      guard !isOptimistic else {
        throw ProfileError(field.path, expected: "no \"state\" beside \"optimistic\"", found: "one")
      }
      state = try field.characteristic(device.characteristics)
    } else if !isOptimistic {
      state = characteristic
    }
    guard state != nil, case .choices(let choices) = content else { return }
    for (index, choice) in choices.enumerated() {
      guard let other = choices[..<index].first(where: { $0.state == choice.state }) else {
        continue
      }
      throw ProfileError(
        object.path,
        expected: "a value of its own for \"\(choice.name)\", or \"optimistic\": true",
        found: choice.state == nil ? "none" : "that of \"\(other.name)\"")
    }
  }

  private static func content(
    _ object: ProfileObject, _ component: Component, _ hasCharacteristic: Bool,
    _ device: DeviceConfiguration
  ) throws(ProfileError) -> Content {
    func choice(_ key: String, as name: String) throws(ProfileError) -> Choice {
      let field = try object.required(key, "the octets to write, or {\"sequence\": \"NAME\"}")
      return try field.choice(name, hasCharacteristic, device)
    }
    switch component {
    case .switch: return .choices([try choice("on", as: "ON"), try choice("off", as: "OFF")])
    case .button: return .choices([try choice("press", as: "PRESS")])
    case .select:
      let field = try object.required("options", "an object of names and octets")
      let entries = try field.entries
      guard 1...limit ~= entries.count else {
        throw ProfileError(
          field.path, expected: "1 to \(limit) options", found: "\(entries.count)")
      }
      var choices: [Choice] = []
      for (name, field) in entries {
        guard 1...64 ~= name.utf8.count else {
          throw field.keyed(name).mistake("a name of 1 to 64 octets")
        }
        choices.append(try field.choice(name, hasCharacteristic, device))
      }
      return .choices(choices)
    case .number:
      _ = try object.required("characteristic", "which is written")
      return .number(try ControlNumber(object))
    case .text:
      _ = try object.required("characteristic", "which is written")
      let least = try object["min"]?.integer(0...255) ?? 0
      return .text(least...(try object["max"]?.integer(max(1, least)...255) ?? 255))
    }
  }
}

extension ControlNumber {
  fileprivate init(_ object: ProfileObject) throws(ProfileError) {
    let field = try object.required("format", "how the number is written")
    let word = try field.word(Format.allCases.map(\.rawValue))
    let format = Format.allCases.first { $0.rawValue == word } ?? .uint8
    let scale = try object["scale"]?.decimal(1e-6...1e6) ?? 1
    let limits = (format.range.lowerBound * scale)...(format.range.upperBound * scale)
    let least = try object["min"]?.decimal(limits) ?? limits.lowerBound
    let most = try object["max"]?.decimal(limits) ?? limits.upperBound
    guard least < most else {
      throw ProfileError(
        object.path, expected: "\"min\" below \"max\"", found: "\(least) and \(most)")
    }
    self.init(range: least...most, step: max(1e-3, scale))
    self.format = format
    self.scale = scale
    isBigEndian = try object["bigEndian"]?.bool ?? false
    // Home Assistant has no smaller ones.
    if let field = object["step"] { step = try field.decimal(1e-3...1e9) }
    unit = try object["unit"]?.text(limit: 32)
    mode = try object["mode"]?.word(["box", "slider"])
  }
}

extension ProfileField {
  /// Octets to write, or an object with `write` or `sequence`, and with `state`.
  fileprivate func choice(
    _ name: String, _ hasCharacteristic: Bool, _ device: DeviceConfiguration
  ) throws(ProfileError) -> ControlConfiguration.Choice {
    var written: ProfileField? = self
    var (effect, state): (ControlConfiguration.Effect?, [UInt8]?)
    if (try? entries) != nil {
      let object = try ProfileObject(self, keys: ["write", "sequence", "state"])
      written = object["write"]
      state = try object["state"]?.octets()
      guard (written == nil) != (object["sequence"] == nil) else {
        throw ProfileError(
          path, expected: "one of the keys write, sequence",
          found: written == nil ? "none" : "both")
      }
      if let field = object["sequence"] {
        effect = .sequence(try field.word(device.sequences.keys.sorted()))
      }
    }
    if let written {
      let octets = try written.octets()
      guard hasCharacteristic else {
        throw ProfileError(
          written.path, expected: "the key \"characteristic\" in the control", found: "none")
      }
      effect = .write(octets)
      state = state ?? octets
    }
    return .init(name: name, effect: effect ?? .write([]), state: state)
  }

  /// `mdi:lightbulb`.
  fileprivate var icon: String {
    get throws(ProfileError) {
      let text = try text(limit: 64)
      let parts = text.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count == 2,
        parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(ProfileField.isNameOctet) })
      else { throw mistake("an icon such as \"mdi:lightbulb\"") }
      return text
    }
  }
}

extension ControlConfiguration {
  /// The values of `device_class` that Home Assistant knows. It drops an entity with another one.
  static func classes(of component: Component) -> [String] {
    switch component {
    case .switch: ["outlet", "switch"]
    case .button: ["identify", "restart", "update"]
    case .number: numberClasses
    case .select, .text: []
    }
  }

  private static let numberClasses = """
    absolute_humidity apparent_power aqi area atmospheric_pressure battery blood_glucose_concentration \
    carbon_dioxide carbon_monoxide conductivity current data_rate data_size distance duration energy \
    energy_distance energy_storage frequency gas humidity illuminance irradiance moisture monetary \
    nitrogen_dioxide nitrogen_monoxide nitrous_oxide ozone ph pm1 pm10 pm25 pm4 power power_factor \
    precipitation precipitation_intensity pressure radon reactive_energy reactive_power signal_strength \
    sound_pressure speed sulphur_dioxide temperature temperature_delta volatile_organic_compounds \
    volatile_organic_compounds_parts voltage volume volume_flow_rate volume_storage water weight \
    wind_direction wind_speed
    """.split(separator: " ").map(String.init)
}
