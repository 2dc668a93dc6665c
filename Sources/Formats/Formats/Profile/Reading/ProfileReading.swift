import AttoText

extension Profile {
  /// Reads a profile file and checks its layout. Limits: 4 MiB, 32 levels.
  ///
  /// - Throws: ``ProfileError`` for the first mistake.
  public init(contentsOfFile path: String) throws(ProfileError) {
    try self.init(json: ProfileField.bytes(ofFile: path), file: path)
  }

  /// Reads a profile from UTF-8 JSON and checks its layout. Limits: 4 MiB, 32 levels.
  ///
  /// - Parameter file: the name of the file in messages.
  /// - Throws: ``ProfileError`` for the first mistake.
  public init(json bytes: [UInt8], file: String? = nil) throws(ProfileError) {
    self = try ProfileField.read(bytes, file: file) { (field) throws(ProfileError) in
      try Profile(node: field.node)
    }
  }

  /// Reads a profile that is a part of a JSON text, and checks its layout.
  ///
  /// - Throws: ``ProfileError`` for the first mistake, without its position.
  package init(node: JSON) throws(ProfileError) {
    try self.init(ProfileField(node: node, path: ProfilePath()))
    _ = try layout()
  }

  private init(_ field: ProfileField) throws(ProfileError) {
    let object = try ProfileObject(
      field, keys: ["name", "mtu", "automatic", "advertising", "services"])
    self.init(name: try object["name"]?.text(limit: Advertising.nameLimit))
    mtu = try object["mtu"].map { field throws(ProfileError) in
      UInt16(try field.integer(23...0xFFFF))
    }
    addsAutomaticServices = try object["automatic"]?.bool ?? true
    advertising = try object["advertising"].map(Advertising.init)
    for field in try object.required("services", "a list").list {
      services.append(try Service(field))
    }
  }
}

extension Profile.Service {
  fileprivate init(_ field: ProfileField) throws(ProfileError) {
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
  fileprivate init(_ field: ProfileField) throws(ProfileError) {
    guard case .object = field.node.content else {
      service = try field.target("service")
      return
    }
    let object = try ProfileObject(field, keys: ["handle", "service"])
    handle = try object["handle"]?.handle
    service = try object.required("service", "the handle or UUID of a service").target("service")
  }
}

extension ProfileField {
  /// Reads a file whole, of at most 4 MiB.
  ///
  /// - Parameter waits: whether it may be a pipe, for whose end this waits.
  package static func bytes(
    ofFile path: String, waits: Bool = true
  ) throws(ProfileError) -> [UInt8] {
    do throws(FileBytes.Failure) {
      return try FileBytes.read(path, waits: waits)
    } catch {
      throw ProfileError(unreadable: path, error)
    }
  }

  /// Parses UTF-8 JSON and returns what `body` reads from it. Errors get the file and the position.
  package static func read<Value>(
    _ bytes: [UInt8], file: String?, _ body: (ProfileField) throws(ProfileError) -> Value
  ) throws(ProfileError) -> Value {
    let node: JSON
    do throws(TextMistake) {
      node = try JSONParser.parse(bytes)
    } catch {
      var mistake = ProfileError(
        ProfilePath(), expected: error.expected, found: error.found)
      mistake.file = file
      mistake.position = TextPosition(of: error.offset, in: bytes)
      throw mistake
    }
    do throws(ProfileError) {
      return try body(ProfileField(node: node, path: ProfilePath()))
    } catch {
      var mistake = error
      mistake.file = file
      mistake.position = TextPosition(of: error.place.offset(in: node), in: bytes)
      throw mistake
    }
  }
}
