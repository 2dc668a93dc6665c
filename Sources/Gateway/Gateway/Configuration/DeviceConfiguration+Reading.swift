import Atto
import AttoATT
import AttoFormats
import AttoText

extension DeviceConfiguration {
  static let keys = [
    "name", "match", "security", "passkey", "hold", "subscribe", "read", "characteristics",
    "sequences", "controls", "firmware",
  ]
  /// Characteristics in one list.
  static let characteristicLimit = 256
  /// Sequences of a device.
  static let sequenceLimit = 64

  init(_ field: ProfileField) throws(ProfileError) {
    let object = try ProfileObject(field, keys: Self.keys)
    self.init(
      name: try object.required("name", "the device's name").name,
      match: try DeviceMatch(
        object.required("match", "how the device is recognised")))
    if let field = object["security"] { security = try field.securityLevel }
    if let number = try object["passkey"]?.integer(0...999_999) { passkey = UInt32(number) }
    firmware = try object["firmware"]?.text(limit: 255)
    isHeld = try object["hold"]?.bool ?? true
    for (key, field) in try object["characteristics"]?.entries(
      upTo: Self.characteristicLimit) ?? []
    {
      characteristics.append(try NamedCharacteristic(key, field))
    }
    for field in try object["subscribe"]?.list(upTo: Self.characteristicLimit) ?? [] {
      subscribe.append(try field.characteristic(characteristics))
    }
    for field in try object["read"]?.list(upTo: Self.characteristicLimit) ?? [] {
      read.append(try PeriodicRead(field, characteristics))
    }
    for (key, field) in try object["sequences"]?.entries(upTo: Self.sequenceLimit) ?? [] {
      sequences[try field.keyed(key).name] = try field.steps(characteristics)
    }
    for field in try object["controls"]?.list(upTo: ControlConfiguration.limit) ?? [] {
      controls.append(try ControlConfiguration(field, of: self))
    }
  }
}

extension DeviceConfiguration.PeriodicRead {
  fileprivate init(
    _ field: ProfileField, _ names: [DeviceConfiguration.NamedCharacteristic]
  ) throws(ProfileError) {
    let object = try ProfileObject(field, keys: ["uuid", "characteristic", "everySeconds"])
    guard object["uuid"] == nil || object["characteristic"] == nil else {
      throw ProfileError(
        field.path, expected: "one of \"uuid\" and \"characteristic\"", found: "both")
    }
    let characteristic =
      if let field = object["characteristic"] { field } else {
        try object.required("uuid", "the characteristic")
      }
    self.init(
      try characteristic.characteristic(names),
      every: try object.required("everySeconds", "the time between two reads")
        .seconds(1...604_800))
  }
}

extension DeviceConfiguration.NamedCharacteristic {
  fileprivate init(_ key: String, _ field: ProfileField) throws(ProfileError) {
    let name = try field.keyed(key).name
    guard BluetoothUUID(name) == nil else {
      throw field.keyed(key).mistake("a name that is no UUID")
    }
    guard (try? field.entries) != nil else {
      self.init(name: name, uuid: try field.uuid)
      return
    }
    let object = try ProfileObject(field, keys: ["uuid", "service", "decode", "retain"])
    self.init(
      name: name, uuid: try object.required("uuid", "the characteristic's UUID").uuid,
      service: try object["service"]?.uuid, decodes: try object["decode"]?.bool,
      isRetained: try object["retain"]?.bool)
  }
}

extension DeviceMatch {
  static let keys = ["address", "localName", "service", "manufacturerData"]

  fileprivate init(_ field: ProfileField) throws(ProfileError) {
    let object = try ProfileObject(field, keys: Self.keys)
    self.init()
    address = try object["address"]?.address
    localName = try object["localName"]?.text(limit: 248)
    service = try object["service"]?.uuid
    if let field = object["manufacturerData"] {
      let entries = try field.entries(upTo: 1)
      guard let (key, field) = entries.first else { throw field.mistake("a company's data") }
      company = try field.keyed(key).company
      manufacturerData = try field.octets(limit: 251)
    }
    guard address != nil || localName != nil || service != nil || company != nil else {
      throw ProfileError(
        field.path, expected: "one of the keys " + Self.keys.joined(separator: ", "),
        found: "none")
    }
  }
}

extension ProfileField {
  var address: BluetoothAddress {
    get throws(ProfileError) {
      let expected = "an address such as \"AA:BB:CC:DD:EE:FF\" or \"AA:BB:CC:DD:EE:FF/random\""
      guard let address = BluetoothAddress(try string(expected)) else { throw mistake(expected) }
      return address
    }
  }

  fileprivate var securityLevel: SecurityLevel {
    get throws(ProfileError) {
      let word = try word(SecurityLevel.allCases.map { "\($0)" })
      return SecurityLevel.allCases.first { "\($0)" == word } ?? .low
    }
  }

  fileprivate func list(upTo limit: Int) throws(ProfileError) -> [ProfileField] {
    let list = try list
    guard list.count <= limit else {
      throw ProfileError(path, expected: "at most \(limit)", found: "\(list.count)")
    }
    return list
  }

  fileprivate func entries(
    upTo limit: Int
  ) throws(ProfileError) -> [(name: String, field: ProfileField)] {
    let entries = try entries
    guard entries.count <= limit else {
      throw ProfileError(path, expected: "at most \(limit)", found: "\(entries.count)")
    }
    return entries
  }

  /// A UUID, `SERVICE/UUID`, a handle, or a name.
  func characteristic(
    _ names: [DeviceConfiguration.NamedCharacteristic]
  ) throws(ProfileError) -> CharacteristicReference {
    let expected =
      "a UUID such as \"2A37\" or \"180D/2A37\", a handle such as \"0x0012\", or a name"
    let text = try string(expected)
    guard let reference = CharacteristicReference(text, names: names) else {
      var mistake = mistake(expected + " from \"characteristics\"")
      let near = NearestWord.of(text, among: names.map(\.name))
      mistake.found += near.map { " (did you mean \"\($0)\"?)" } ?? ""
      throw mistake
    }
    return reference
  }
}

extension CharacteristicReference {
  /// Reads a UUID, `SERVICE/UUID`, a handle (`0x0012`) or one of the names; nil for any other text.
  package init?(_ text: String, names: [DeviceConfiguration.NamedCharacteristic] = []) {
    if names.contains(where: { $0.name == text }) {
      self = .name(text)
      return
    }
    if text.hasPrefix("0x"), 3...6 ~= text.utf8.count {
      guard let number = Hex.number(text.utf8.dropFirst(2)), 1...0xFFFF ~= number else {
        return nil
      }
      self = .handle(AttributeHandle(UInt16(number)))
      return
    }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).map {
      BluetoothUUID($0)
    }
    switch parts.count {
    case 1:
      guard let uuid = parts[0] else { return nil }
      self = .uuid(uuid, service: nil)
    case 2:
      guard let service = parts[0], let uuid = parts[1] else { return nil }
      self = .uuid(uuid, service: service)
    default: return nil
    }
  }
}
