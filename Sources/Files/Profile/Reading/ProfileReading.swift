import ATT

extension Profile {
  /// Reads a profile file and checks that it can be laid out.
  ///
  /// Limits: 4 MiB, 32 levels. Throws at the first mistake, with its path and place.
  public init(contentsOfFile path: String) throws(ProfileError) {
    let bytes: [UInt8]
    do throws(FileBytes.Failure) {
      bytes = try FileBytes.read(path)
    } catch {
      throw Self.unreadable(error, path)
    }
    try self.init(json: bytes, file: path)
  }

  /// Reads a profile from UTF-8 JSON and checks that it can be laid out.
  ///
  /// Limits: 4 MiB, 32 levels. Throws at the first mistake, with its path and place; `file`
  /// is what messages call the bytes.
  public init(json bytes: [UInt8], file: String? = nil) throws(ProfileError) {
    let node: JSONNode
    do throws(JSONSyntaxError) {
      node = try JSONParser.parse(bytes)
    } catch {
      var mistake = ProfileError(
        ProfilePath(), expected: error.expected, found: error.found)
      mistake.file = file
      mistake.position = TextPosition(of: error.offset, in: bytes)
      throw mistake
    }
    do throws(ProfileError) {
      try self.init(ProfileField(node: node, path: ProfilePath()))
      _ = try layout()
    } catch {
      var mistake = error
      mistake.file = file
      mistake.position = TextPosition(of: error.place.offset(in: node), in: bytes)
      throw mistake
    }
  }

  private static func unreadable(_ failure: FileBytes.Failure, _ path: String) -> ProfileError {
    var mistake = ProfileError(
      ProfilePath(), expected: "a readable file of at most \(FileBytes.limit) bytes",
      found: failure.found)
    mistake.file = path
    return mistake
  }

  private init(_ field: ProfileField) throws(ProfileError) {
    let object = try ProfileObject(
      field, keys: ["name", "mtu", "automatic", "advertising", "services"])
    name = try object["name"]?.text(limit: Advertising.nameLimit)
    mtu = UInt16(try object["mtu"]?.integer(23...0xFFFF) ?? 0)
    if mtu == 0 { mtu = nil }
    addsAutomaticServices = try object["automatic"]?.bool ?? true
    advertising = try object["advertising"].map(Advertising.init)
    services = []
    for field in try object.required("services", "a list").list {
      services.append(try Service(field))
    }
  }
}

extension Profile.Service {
  init(_ field: ProfileField) throws(ProfileError) {
    let object = try ProfileObject(
      field, keys: ["uuid", "primary", "handle", "endHandle", "includes", "characteristics"])
    uuid = try object.required("uuid", "the service's UUID").uuid
    isPrimary = try object["primary"]?.bool ?? true
    handle = try object["handle"]?.handle
    endHandle = try object["endHandle"]?.handle
    for field in try object["includes"]?.list ?? [] {
      includes.append(try Profile.Include(field))
    }
    for field in try object["characteristics"]?.list ?? [] {
      characteristics.append(try Profile.Characteristic(field))
    }
  }
}

extension Profile.Include {
  init(_ field: ProfileField) throws(ProfileError) {
    guard case .object = field.node.content else {
      service = try field.target("service")
      return
    }
    let object = try ProfileObject(field, keys: ["handle", "service"])
    handle = try object["handle"]?.handle
    service = try object.required("service", "the handle or UUID of a service").target("service")
  }
}

extension Profile.Characteristic {
  init(_ field: ProfileField) throws(ProfileError) {
    let object = try ProfileObject(
      field,
      keys: [
        "uuid", "handle", "valueHandle", "properties", "value", "maxLength", "fixedLength",
        "permissions", "keySize", "cccd", "descriptors", "behaviour",
      ])
    uuid = try object.required("uuid", "the characteristic's UUID").uuid
    handle = try object["handle"]?.handle
    valueHandle = try object["valueHandle"]?.handle
    let names =
      Profile.Properties.names.map(\.name) + Profile.ExtendedProperties.names.map(\.name)
    for word in try object["properties"]?.words(names) ?? [] {
      for (name, property) in Profile.Properties.names where name == word {
        properties.insert(property)
      }
      for (name, property) in Profile.ExtendedProperties.names where name == word {
        properties.insert(.extendedProperties)
        extendedProperties.insert(property)
      }
    }
    value = try Profile.Value(object)
    for field in try object["descriptors"]?.list ?? [] {
      descriptors.append(try Profile.Descriptor(field))
    }
    addsConfiguration = try object["cccd"]?.bool ?? true
    if let field = object["cccd"] {
      let subscribable = !properties.isDisjoint(with: [.notify, .indicate])
      let listed = descriptors.contains { $0.uuid == 0x2902 }
      if addsConfiguration ? !subscribable : listed {
        throw ProfileError(
          field.path,
          expected: addsConfiguration
            ? "the property notify or indicate beside it" : "no descriptor 2902 beside it",
          found: field.node.found)
      }
    }
    behaviour = try object["behaviour"].map(Profile.Behaviour.init)
  }
}

extension Profile.Descriptor {
  init(_ field: ProfileField) throws(ProfileError) {
    let object = try ProfileObject(
      field,
      keys: ["uuid", "handle", "value", "maxLength", "fixedLength", "permissions", "keySize"])
    uuid = try object.required("uuid", "the descriptor's UUID").uuid
    handle = try object["handle"]?.handle
    value = try Profile.Value(object)
  }
}
