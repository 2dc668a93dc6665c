import AttoATT
import AttoGATT
import AttoText

extension Profile.Behaviour {
  /// Reads the behaviour of a characteristic, which must allow it.
  init(
    _ field: ProfileField, of characteristic: CharacteristicDefinition, initially value: [UInt8]
  ) throws(ProfileError) {
    let object = try ProfileObject(
      field,
      keys: [
        "notifyEveryMilliseconds", "indicateEveryMilliseconds", "readError", "writeError",
        "delayMilliseconds", "echoTo", "counter", "sink", "tally", "throughputMetrics", "checkSums",
        "octetsPerSecondTo", "processTime", "burst", "stream", "application",
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
    hasThroughputMetrics = try object["throughputMetrics"]?.bool ?? false
    octetsPerSecond = try object["octetsPerSecondTo"]?.target("characteristic")
    isSink =
      try object["sink"]?.bool ?? (isTally || hasThroughputMetrics || octetsPerSecond != nil)
    hasCheckSums = try object["checkSums"]?.bool ?? false
    isProcessTime = try object["processTime"]?.bool ?? false
    if let burst = object["burst"] { self.burst = try Profile.Burst(burst) }
    if let stream = object["stream"] {
      let object = try ProfileObject(stream, keys: ["size", "values"])
      streamSize = try object.required("size", "the octets of each value")
        .integer(4...ValueLimits.longest)
      streamIsST = try object["values"]?.word(["atto", "st"]) == "st"
    }
    try check(characteristic, value, field.path)
    isAnswered = try object["application"]?.bool ?? false
    var alone = Profile.Behaviour()
    alone.isAnswered = true
    guard !isAnswered || self == alone else {
      throw ProfileError(
        field.path / "application", expected: "no other behaviour of the value", found: "another")
    }
  }

  /// Checks that the properties and permissions allow the behaviour.
  private func check(
    _ characteristic: CharacteristicDefinition, _ value: [UInt8], _ path: ProfilePath
  ) throws(ProfileError) {
    func require(
      _ needed: CharacteristicProperties, _ name: String, _ key: String
    ) throws(ProfileError) {
      guard !characteristic.properties.isDisjoint(with: needed) else {
        throw ProfileError(
          path / key, expected: "the property \(name) on the characteristic", found: "none")
      }
    }
    func requireReadable(_ key: String) throws(ProfileError) {
      guard characteristic.permissions.read != .denied else {
        throw ProfileError(
          path / key, expected: "a readable characteristic", found: "no read permission")
      }
    }
    func requireWritable(_ key: String) throws(ProfileError) {
      guard characteristic.permissions.write != .denied else {
        throw ProfileError(
          path / key, expected: "a writable characteristic", found: "no write permission")
      }
    }
    if notifyEvery != nil { try require([.notify], "notify", "notifyEveryMilliseconds") }
    if indicateEvery != nil { try require([.indicate], "indicate", "indicateEveryMilliseconds") }
    if let burst {
      try require([.notify], "notify", "burst")
      if burst.trigger == .write { try requireWritable("burst") }
    }
    if streamSize != nil { try require([.notify, .indicate], "notify or indicate", "stream") }
    for (isSet, key) in [(isTally, "tally"), (hasThroughputMetrics, "throughputMetrics")]
    where isSet {
      try requireWritable(key)
      try requireReadable(key)
    }
    if isProcessTime { try requireReadable("processTime") }
    if isTally, hasThroughputMetrics {
      throw ProfileError(
        path / "throughputMetrics", expected: "either this or tally", found: "both")
    }
    if hasCheckSums, !isTally, streamSize == nil {
      throw ProfileError(path / "checkSums", expected: "a stream or a tally", found: "neither")
    }
    if streamIsST, hasCheckSums {
      throw ProfileError(path / "checkSums", expected: "either this or values of ST", found: "both")
    }
    if octetsPerSecond != nil, !isSink || echo != nil {
      throw ProfileError(
        path / "octetsPerSecondTo", expected: "a sink without an echo", found: "another")
    }
    if echo != nil { try requireWritable("echoTo") }
    if writeError != nil { try requireWritable("writeError") }
    if isSink { try requireWritable("sink") }
    if readError != nil { try requireReadable("readError") }
    if let counter, counter > value.count {
      throw ProfileError(
        path / "counter", expected: "1 to 8 octets within the value",
        found: "\(counter) in a value of \(value.count)")
    }
  }
}

extension Profile.Burst {
  init(_ field: ProfileField) throws(ProfileError) {
    let object = try ProfileObject(field, keys: ["count", "size", "on"])
    count = try object.required("count", "the number of notifications").integer(1...1_000_000)
    size = try object.required("size", "the octets of each notification").integer(
      4...ValueLimits.longest)
    let words = Trigger.allCases.map(\.rawValue)
    let on = try object.required("on", "the event that starts it")
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
          field.path, expected: "at most \(Self.uuidLimit) UUIDs", found: "another")
      }
      guard !serviceUUIDs.contains(uuid) else {
        throw ProfileError(field.path, expected: "each UUID once", found: "\(uuid) again")
      }
      serviceUUIDs.append(uuid)
    }
    for (name, field) in try object["manufacturerData"]?.entries ?? [] {
      let company = try field.keyed(name).number("a company identifier such as \"0x0059\"")
      manufacturerData.append(
        Profile.ManufacturerData(company: company, data: try field.octets(limit: Self.dataLimit)))
    }
    for (name, field) in try object["serviceData"]?.entries ?? [] {
      let service = try field.keyed(name).uuid
      serviceData.append(
        Profile.ServiceData(service: service, data: try field.octets(limit: Self.dataLimit)))
    }
    if let power = try object["txPower"]?.integer(-127...127, unit: " of dBm") {
      txPower = Int8(power)
    }
    appearance = try object["appearance"]?.number("an appearance such as \"0x0341\"")
    interval = try object["interval"]?.milliseconds(20...10_240)
    isConnectable = try object["connectable"]?.bool ?? true
  }
}

extension ProfileField {
  /// The members of an object with arbitrary keys.
  package var entries: [(name: String, field: ProfileField)] {
    get throws(ProfileError) {
      guard case .object(let members) = node.content else { throw mistake("an object") }
      return members.map { ($0.name, ProfileField(node: $0.value, path: path / $0.name)) }
    }
  }

  /// The key as a value, so that a mistake in it is reported at its position.
  package func keyed(_ name: String) -> ProfileField {
    ProfileField(node: JSON(.string(name), offset: node.offset), path: path)
  }
}
