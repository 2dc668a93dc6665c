import ATT

extension Profile.Behaviour {
  init(_ field: ProfileField) throws(ProfileError) {
    let object = try ProfileObject(
      field,
      keys: [
        "notifyEveryMilliseconds", "indicateEveryMilliseconds", "readError", "writeError",
        "delayMilliseconds", "echoTo", "counter", "sink", "tally", "burst", "stream",
      ])
    let day = 86_400_000
    notifyEvery = try object["notifyEveryMilliseconds"]?.milliseconds(1...day)
    indicateEvery = try object["indicateEveryMilliseconds"]?.milliseconds(1...day)
    readError = try object["readError"]?.errorCode
    writeError = try object["writeError"]?.errorCode
    delay = try object["delayMilliseconds"]?.milliseconds(0...600_000)
    echo = try object["echoTo"]?.target("characteristic")
    counter = try object["counter"]?.integer(1...8, unit: " of octets")
    isTally = try object["tally"]?.bool ?? false
    isSink = try object["sink"]?.bool ?? isTally
    if let burst = object["burst"] { self.burst = try Profile.Burst(burst) }
    if let stream = object["stream"] {
      let object = try ProfileObject(stream, keys: ["size"])
      streamSize = try object.required("size", "octets of each value")
        .integer(4...Profile.Value.lengthLimit)
    }
  }
}

extension Profile.Burst {
  init(_ field: ProfileField) throws(ProfileError) {
    let object = try ProfileObject(field, keys: ["count", "size", "on"])
    count = try object.required("count", "how many notifications").integer(1...1_000_000)
    size = try object.required("size", "their octets").integer(4...Profile.Value.lengthLimit)
    let words = Trigger.allCases.map(\.rawValue)
    let on = try object.required("on", "what sets it off")
    let word = try on.word(words)
    guard let trigger = Trigger(rawValue: word) else { throw on.mistake(word) }
    self.trigger = trigger
  }
}

extension Profile.Advertising {
  /// Octets of the longest device name. Vol 3, Part C, 3.2.2.
  static let nameLimit = 248
  /// Octets of manufacturer or service data in one structure.
  private static let dataLimit = 251
  /// 16-bit UUIDs that fit one structure.
  private static let uuidLimit = 125

  init(_ field: ProfileField) throws(ProfileError) {
    let object = try ProfileObject(
      field,
      keys: [
        "localName", "serviceUUIDs", "manufacturerData", "serviceData", "txPower",
        "appearance", "interval", "connectable",
      ])
    localName = try object["localName"]?.text(limit: Self.nameLimit)
    for field in try object["serviceUUIDs"]?.list ?? [] {
      let uuid = try field.uuid
      guard serviceUUIDs.count < Self.uuidLimit else {
        throw ProfileError(
          field.path, expected: "at most \(Self.uuidLimit) UUIDs", found: "one more")
      }
      guard !serviceUUIDs.contains(uuid) else {
        throw ProfileError(field.path, expected: "each UUID once", found: "\(uuid) a second time")
      }
      serviceUUIDs.append(uuid)
    }
    for (name, field) in try object["manufacturerData"]?.entries ?? [] {
      let company = try field.keyed(name).number16("a company identifier such as \"0x0059\"")
      manufacturerData.append(
        Profile.ManufacturerData(company: company, data: try field.bytes(limit: Self.dataLimit)))
    }
    for (name, field) in try object["serviceData"]?.entries ?? [] {
      let service = try field.keyed(name).uuid
      serviceData.append(
        Profile.ServiceData(service: service, data: try field.bytes(limit: Self.dataLimit)))
    }
    if let power = try object["txPower"]?.integer(-127...127, unit: " of dBm") {
      txPower = Int8(power)
    }
    appearance = try object["appearance"]?.number16("an appearance such as \"0x0341\"")
    interval = try object["interval"]?.milliseconds(20...10_240)
    isConnectable = try object["connectable"]?.bool ?? true
  }
}

extension ProfileField {
  /// The members of an object whose keys are data.
  fileprivate var entries: [(name: String, field: ProfileField)] {
    get throws(ProfileError) {
      guard case .object(let members) = node.content else { throw mistake("an object") }
      return members.map { ($0.name, ProfileField(node: $0.value, path: path / $0.name)) }
    }
  }

  /// The key itself as a value, so that mistakes in it are reported at its place.
  fileprivate func keyed(_ name: String) -> ProfileField {
    ProfileField(node: JSONNode(offset: node.offset, content: .string(name)), path: path)
  }
}
