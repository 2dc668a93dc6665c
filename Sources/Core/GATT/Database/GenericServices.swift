import AttoATT

extension Database {
  /// Creates a database with the services that every device must have (Vol 3, Part C, 12 and Part G,
  /// 7): Generic Access at handles 0x0001 to 0x0005, and Generic Attribute, through which bonded
  /// clients learn of changes, at 0x0006 to 0x000D.
  ///
  /// - Parameters:
  ///   - name: the device name, cut at 248 octets of UTF-8.
  ///   - appearance: a number assigned by the SIG; 0 is unknown.
  public init(name: String, appearance: UInt16 = 0) {
    self.init(name: name, appearance: appearance, serverFeatures: nil)
  }

  /// The same, with Server Supported Features unless `serverFeatures` is nil. Bit 0: the server
  /// accepts enhanced bearers.
  public init(name: String, appearance: UInt16 = 0, serverFeatures: UInt8?) {
    self.init()
    do throws(DatabaseError) {
      try add(.genericAccess(name: name, appearance: appearance))
      try add(.genericAttribute(serverFeatures: serverFeatures))
    } catch {
      preconditionFailure("an empty database has room for these services")
    }
  }
}

extension ServiceDefinition {
  /// The Generic Access service, with Device Name and Appearance as constants. Vol 3, Part C, 12.
  ///
  /// - Parameters:
  ///   - name: cut at 248 octets of UTF-8, the most that a device name may have.
  ///   - appearance: a number assigned by the SIG; 0 is unknown.
  public static func genericAccess(name: String, appearance: UInt16 = 0) -> ServiceDefinition {
    ServiceDefinition(
      .genericAccess,
      characteristics: [
        CharacteristicDefinition(
          .deviceName, properties: .read, value: .constant(Array(name.utf8.prefix(248)))),
        CharacteristicDefinition(
          .appearance, properties: .read, value: .constant(appearance.octets)),
      ])
  }

  /// The Generic Attribute service: Service Changed, Client Supported Features and Database Hash.
  /// Vol 3, Part G, 7.
  ///
  /// - Parameter serverFeatures: the value of Server Supported Features, which is left out if nil.
  public static func genericAttribute(serverFeatures: UInt8? = nil) -> ServiceDefinition {
    var service = ServiceDefinition(
      .genericAttribute,
      characteristics: [
        CharacteristicDefinition(
          .serviceChanged, properties: .indicate, value: .constant([0x01, 0x00, 0xFF, 0xFF])),
        CharacteristicDefinition(
          .clientSupportedFeatures, properties: [.read, .write], value: .clientSupportedFeatures),
        CharacteristicDefinition(.databaseHash, properties: .read, value: .databaseHash),
      ])
    if let serverFeatures {
      service.characteristics.append(
        CharacteristicDefinition(
          .serverSupportedFeatures, properties: .read, value: .constant([serverFeatures])))
    }
    return service
  }
}
