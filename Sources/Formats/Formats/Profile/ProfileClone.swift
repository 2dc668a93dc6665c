import AttoATT
import AttoGATT
import AttoText

/// A profile that describes a discovered server: its handles, and the values that were read.
///
/// A server of the profile answers discoveries and reads as the original does, except that values do not
/// change by themselves. What a client cannot see is missing: permissions to write, limits of lengths,
/// values without the property `read`.
public struct ProfileClone: Sendable {
  /// The outcome of reading a value.
  public enum Reading: Sendable, Equatable {
    /// The whole value.
    case value([UInt8])
    /// The error that answered the request.
    case refused(ErrorCode)
  }

  private let database: RemoteDatabase
  private let readings: [AttributeHandle: Reading]

  /// - Parameters:
  ///   - database: what was discovered.
  ///   - readings: the outcomes for the handles of values and descriptors.
  public init(_ database: RemoteDatabase, readings: [AttributeHandle: Reading]) {
    self.database = database
    self.readings = readings
  }

  /// The profile as JSON, which ``Profile/init(json:file:)`` reads.
  ///
  /// - Parameter comment: a text for people, at the top.
  /// - Throws: ``ProfileError`` if the original breaks a rule that servers of profiles keep, such as
  ///   one Client Characteristic Configuration per characteristic.
  public func json(comment: String) throws(ProfileError) -> String {
    let text = text(comment, statesHash: false)
    let profile = try Profile(json: Array(text.utf8))
    guard let characteristic = database.characteristic(.databaseHash),
      case .value(let hash)? = readings[characteristic.valueHandle]
    else { return text }
    // The server computes the hash, unless the original has another opinion of it.
    var layout = try profile.layout()
    layout.automaticServices = []
    var clone = try layout.database()
    return clone.hash() == hash ? text : self.text(comment, statesHash: true)
  }

  private func text(_ comment: String, statesHash: Bool) -> String {
    var lines = ["{ \"comment\": \(Self.quoted(comment)),"]
    if let name = database.characteristic(.deviceName),
      case .value(let octets)? = readings[name.valueHandle], octets.count <= 248,
      let text = String(validating: octets, as: UTF8.self)
    {
      lines.append("  \"name\": \(Self.quoted(text)),")
    }
    lines.append("  \"automatic\": false,")
    let services = database.services.map { service in
      var text =
        "    { \"uuid\": \"\(service.uuid)\", \"handle\": \"\(service.handle)\","
        + " \"endHandle\": \"\(service.endGroupHandle)\""
      if !service.isPrimary { text += ", \"primary\": false" }
      let includes = service.includes.map {
        "        {\"handle\": \"\($0.handle)\", \"service\": \"\($0.startHandle)\"}"
      }
      if !includes.isEmpty { text += ",\n      \"includes\": [\n" + Self.list(includes) }
      let characteristics = service.characteristics.map {
        self.text($0, in: service, statesHash: statesHash)
      }
      if !characteristics.isEmpty {
        text += ",\n      \"characteristics\": [\n" + Self.list(characteristics)
      }
      return text + " }"
    }
    lines.append("  \"services\": [")
    return lines.joined(separator: "\n") + "\n" + Self.list(services) + " }\n"
  }

  private func text(
    _ characteristic: Characteristic, in service: Service, statesHash: Bool
  ) -> String {
    let properties = characteristic.properties
    var words = CharacteristicProperties.names.filter { properties.contains($0.property) }
      .map(\.name)
    if let extended = characteristic.descriptor(.characteristicExtendedProperties),
      case .value(let octets)? = readings[extended.handle], octets.count == 2
    {
      let bits = Profile.ExtendedProperties(rawValue: UInt16(octets[0]) | UInt16(octets[1]) << 8)
      if bits.octets == octets, properties.contains(.extendedProperties), bits.rawValue <= 3 {
        words += Profile.ExtendedProperties.names.filter { bits.contains($0.property) }.map(\.name)
      }
    }
    let list = words.map { "\"\($0)\"" }.joined(separator: ", ")
    var text =
      "        { \"uuid\": \"\(characteristic.uuid)\", \"handle\": \"\(characteristic.declarationHandle)\","
      + " \"valueHandle\": \"\(characteristic.valueHandle)\",\n          \"properties\": [\(list)]"
    // The server keeps these itself.
    let isKept =
      service.uuid == .genericAttribute
      && (characteristic.uuid == .clientSupportedFeatures
        || characteristic.uuid == .databaseHash && !statesHash)
    if !isKept {
      let writes: CharacteristicProperties = [
        .write, .writeWithoutResponse, .authenticatedSignedWrites,
      ]
      text += self.text(
        readings[characteristic.valueHandle], isWritable: !properties.isDisjoint(with: writes),
        hasBehaviour: true)
    }
    if characteristic.cccd == nil, !properties.isDisjoint(with: [.notify, .indicate]) {
      text += ", \"cccd\": false"
    }
    let descriptors = characteristic.descriptors.map { descriptor in
      let isConfiguration = descriptor.uuid == .clientCharacteristicConfiguration
      return "            {\"uuid\": \"\(descriptor.uuid)\", \"handle\": \"\(descriptor.handle)\""
        + (isConfiguration
          ? ""
          : self.text(readings[descriptor.handle], isWritable: false, hasBehaviour: false)) + "}"
    }
    if !descriptors.isEmpty {
      text += ",\n          \"descriptors\": [\n" + Self.list(descriptors)
    }
    return text + " }"
  }

  /// The keys for the outcome of a reading, each after a comma.
  private func text(_ reading: Reading?, isWritable: Bool, hasBehaviour: Bool) -> String {
    switch reading {
    case nil, .value([]): return ""
    case .value(let octets):
      return ", \"value\": " + Self.value(octets)
    case .refused(let code):
      var words: [String] = []
      var rest = ""
      switch code {
      case .readNotPermitted: break
      case .insufficientEncryption: words.append("readEncrypted")
      case .insufficientAuthentication: words.append("readAuthenticated")
      case .insufficientAuthorization: words.append("readAuthorized")
      case .encryptionKeySizeTooShort:
        words.append("readEncrypted")
        rest = ", \"keySize\": 16"
      default:
        // Descriptors have no behaviour.
        guard hasBehaviour, code.rawValue > 0 else { break }
        return ", \"behaviour\": {\"readError\": \"0x\(Hex.digits(code.rawValue))\"}"
      }
      if isWritable { words.append("write") }
      let list = words.map { "\"\($0)\"" }.joined(separator: ", ")
      return ", \"permissions\": [\(list)]" + rest
    }
  }

  private static func value(_ octets: [UInt8]) -> String {
    let isText = octets.count > 1 && octets.allSatisfy { (0x20...0x7E).contains($0) }
    return isText
      ? quoted("text:" + String(decoding: octets, as: UTF8.self)) : "\"hex:\(Hex.text(octets))\""
  }

  private static func list(_ entries: [String]) -> String {
    entries.joined(separator: ",\n") + " ]"
  }

  /// A JSON string. What a terminal would not show is escaped.
  private static func quoted(_ text: String) -> String {
    var out = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": out += "\\\(scalar)"
      case " "..."~": out.unicodeScalars.append(scalar)
      default: for unit in String(scalar).utf16 { out += "\\u" + Hex.digits(unit) }
      }
    }
    return out + "\""
  }
}
