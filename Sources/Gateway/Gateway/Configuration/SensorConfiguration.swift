import Atto
import AttoATT
import AttoFormats

/// A device whose advertisements carry its readings. No link is held to it.
package struct SensorConfiguration: Equatable, Sendable {
  /// The name in topics: as ``Configuration/name``.
  package var name: String
  /// Its address, whose kind is not compared.
  package var address: BluetoothAddress
  /// The key of 16 octets with which it encrypts; nil: it does not, or nobody knows it.
  package var bindKey: [UInt8]?
  /// The file that the key was read from; nil: the configuration's own.
  package var bindKeyFile: String?
  /// How long Home Assistant shows a reading after the last advertisement, 1 s to 7 days. States that
  /// change seldom are shown until they change.
  package var expiry: Duration = .seconds(3600)

  package init(name: String, address: BluetoothAddress) {
    self.name = name
    self.address = address
  }
}

extension SensorConfiguration {
  static let keys = ["name", "address", "bindKey", "bindKeyFile", "expireSeconds"]
  /// Sensors of a gateway.
  static let limit = 1024

  private init(_ field: ProfileField) throws(ProfileError) {
    let object = try ProfileObject(field, keys: Self.keys)
    self.init(
      name: try object.required("name", "the sensor's name").name,
      address: try object.required("address", "the sensor's address").address)
    let expected = "16 octets in hex"
    switch (object["bindKey"], object["bindKeyFile"]) {
    case (nil, nil): break
    case (let field?, nil):
      bindKey = try Self.key(field, of: try field.string(expected), expected)
    case (nil, let field?):
      bindKey = try Self.key(field, of: try field.firstLine(), "a file with \(expected)")
      bindKeyFile = try field.filePath
    case (_?, let field?):
      throw ProfileError(
        field.path, expected: "one of \"bindKey\" and \"bindKeyFile\"", found: "both")
    }
    if let field = object["expireSeconds"] { expiry = try field.seconds(1...604_800) }
  }

  /// The key of a text, which messages do not show.
  private static func key(
    _ field: ProfileField, of text: String, _ expected: String
  ) throws(ProfileError) -> [UInt8] {
    guard let key = Hex.octets(text.utf8), key.count == 16 else {
      throw ProfileError(field.path, expected: expected, found: "another text")
    }
    return key
  }

  /// Reads the list of sensors.
  ///
  /// - Parameter devices: the names that are taken.
  static func list(
    _ field: ProfileField, besides devices: [String]
  ) throws(ProfileError) -> [SensorConfiguration] {
    var sensors: [SensorConfiguration] = []
    for field in try field.list {
      let sensor = try SensorConfiguration(field)
      guard sensors.count < limit else {
        throw ProfileError(field.path, expected: "at most \(limit) sensors", found: "another")
      }
      guard !devices.contains(sensor.name), !sensors.contains(where: { $0.name == sensor.name })
      else {
        throw ProfileError(
          field.path / "name", expected: "each name once", found: "\"\(sensor.name)\" again")
      }
      if let other = sensors.first(where: { $0.address.value == sensor.address.value }) {
        throw ProfileError(
          field.path / "address", expected: "another address than \"\(other.name)\"",
          found: "\(sensor.address)")
      }
      sensors.append(sensor)
    }
    return sensors
  }
}
