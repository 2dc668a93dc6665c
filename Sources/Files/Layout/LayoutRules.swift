import ATT

extension Profile.Characteristic {
  /// The descriptors that the properties ask for and the profile does not list.
  var addedDescriptors: [Profile.Descriptor] {
    var added: [Profile.Descriptor] = []
    func lists(_ uuid: BluetoothUUID) -> Bool { descriptors.contains { $0.uuid == uuid } }
    if addsConfiguration, !lists(0x2902), !properties.isDisjoint(with: [.notify, .indicate]) {
      added.append(Profile.Descriptor(uuid: 0x2902))
    }
    if properties.contains(.extendedProperties), !lists(0x2900) {
      var descriptor = Profile.Descriptor(uuid: 0x2900)
      descriptor.value = Profile.Value(extendedProperties.bytes)
      descriptor.value.isFixedLength = true
      added.append(descriptor)
    }
    return added
  }
}

extension Profile.ExtendedProperties {
  /// As the descriptor's value has them.
  var bytes: [UInt8] { [UInt8(rawValue & 0xFF), UInt8(rawValue >> 8)] }
}

extension Profile.Value {
  /// Fills in what was left open and refuses what contradicts itself.
  func storage(
    _ permissions: Profile.Permissions, _ path: ProfilePath
  ) throws(ProfileError) -> ProfileLayout.Storage {
    let limit = maxLength ?? (isFixedLength ? bytes.count : Self.lengthLimit)
    guard 0...Self.lengthLimit ~= limit else {
      throw ProfileError(
        path / "maxLength", expected: "0 to \(Self.lengthLimit) octets", found: "\(limit)")
    }
    guard bytes.count <= limit else {
      throw ProfileError(
        path / "value",
        expected: "at most \(limit) octets"
          + (maxLength == nil ? "" : ", the maxLength beside it"),
        found: "\(bytes.count) octets")
    }
    guard !isFixedLength || bytes.count == limit else {
      throw ProfileError(
        path / "fixedLength",
        expected: "a value of \(limit) octets, the maxLength beside it",
        found: "\(bytes.count) octets")
    }
    let permissions = self.permissions ?? permissions
    if let keySize {
      guard 7...16 ~= keySize else {
        throw ProfileError(path / "keySize", expected: "7 to 16 octets", found: "\(keySize)")
      }
      guard !permissions.isDisjoint(with: .anyEncrypted) else {
        throw ProfileError(
          path / "keySize", expected: "a permission beside it that asks for encryption",
          found: "none")
      }
    }
    return ProfileLayout.Storage(
      bytes: bytes, maxLength: limit, isFixedLength: isFixedLength, permissions: permissions,
      keySize: keySize)
  }
}

/// What a descriptor's type says about its value.
struct DescriptorRules {
  let descriptor: Profile.Descriptor
  let characteristic: Profile.Characteristic
  let path: ProfilePath

  init(
    _ descriptor: Profile.Descriptor, of characteristic: Profile.Characteristic,
    _ path: ProfilePath
  ) {
    self.descriptor = descriptor
    self.characteristic = characteristic
    self.path = path
  }

  func check() throws(ProfileError) {
    let bytes = descriptor.value.bytes
    switch descriptor.uuid {
    case 0x2902 where !bytes.isEmpty && bytes != [0, 0]:
      throw ProfileError(
        path / "value", expected: "no value: each client has its own, which starts at 0000",
        found: EncodedBytes.hexadecimal(bytes))
    case 0x2900
    where !characteristic.extendedProperties.isEmpty
      && bytes != characteristic.extendedProperties.bytes:
      throw ProfileError(
        path / "value",
        expected: "hex:" + EncodedBytes.hexadecimal(characteristic.extendedProperties.bytes)
          + ", as the characteristic's properties say",
        found: bytes.isEmpty ? "none" : EncodedBytes.hexadecimal(bytes))
    default: break
    }
  }
}

/// What a behaviour needs of its characteristic.
struct BehaviourRules {
  let behaviour: Profile.Behaviour
  let characteristic: Profile.Characteristic
  let path: ProfilePath

  init(
    _ behaviour: Profile.Behaviour, of characteristic: Profile.Characteristic,
    _ path: ProfilePath
  ) {
    self.behaviour = behaviour
    self.characteristic = characteristic
    self.path = path / "behaviour"
  }

  func check() throws(ProfileError) {
    if behaviour.notifyEvery != nil {
      try need([.notify], "notify", "notifyEveryMilliseconds")
    }
    if behaviour.indicateEvery != nil {
      try need([.indicate], "indicate", "indicateEveryMilliseconds")
    }
    if let burst = behaviour.burst {
      try need([.notify], "notify", "burst")
      if burst.trigger == .write { try needWritable("burst") }
    }
    if behaviour.streamSize != nil {
      try need([.notify, .indicate], "notify or indicate", "stream")
    }
    if behaviour.isTally {
      try needWritable("tally")
      guard permissions.isReadable else {
        throw ProfileError(
          path / "tally", expected: "a characteristic that can be read",
          found: "one without read among its permissions")
      }
    }
    if behaviour.echo != nil { try needWritable("echoTo") }
    if behaviour.writeError != nil { try needWritable("writeError") }
    if behaviour.isSink { try needWritable("sink") }
    if behaviour.readError != nil, !permissions.isReadable {
      throw ProfileError(
        path / "readError", expected: "a characteristic that can be read",
        found: "one without read among its permissions")
    }
    if let counter = behaviour.counter { try check(counter) }
  }

  private func check(_ counter: Int) throws(ProfileError) {
    let count = characteristic.value.bytes.count
    guard 1...8 ~= counter, count >= counter else {
      throw ProfileError(
        path / "counter", expected: "1 to 8 octets that the value has room for",
        found: "\(counter) in a value of \(count)")
    }
  }

  private var permissions: Profile.Permissions {
    characteristic.value.permissions ?? Profile.Permissions(for: characteristic.properties)
  }

  private func need(
    _ properties: Profile.Properties, _ name: String, _ key: String
  ) throws(ProfileError) {
    guard !characteristic.properties.isDisjoint(with: properties) else {
      throw ProfileError(
        path / key, expected: "the property \(name) on the characteristic", found: "none")
    }
  }

  private func needWritable(_ key: String) throws(ProfileError) {
    guard permissions.isWritable else {
      throw ProfileError(
        path / key, expected: "a characteristic that can be written",
        found: "one without write among its permissions")
    }
  }
}
