import AttoATT

// What was discovered, as text.

extension CharacteristicProperties: CustomStringConvertible {
  /// The names, also in profile files, in the order of the bits.
  package static var names: [(name: String, property: CharacteristicProperties)] {
    [
      ("broadcast", .broadcast), ("read", .read), ("writeWithoutResponse", .writeWithoutResponse),
      ("write", .write), ("notify", .notify), ("indicate", .indicate),
      ("authenticatedSignedWrites", .authenticatedSignedWrites),
      ("extendedProperties", .extendedProperties),
    ]
  }

  /// The names of the properties, such as `read, notify`; `none` without any.
  public var description: String {
    var text = ""
    for (name, property) in Self.names where contains(property) {
      text += text.isEmpty ? name : ", " + name
    }
    return text.isEmpty ? "none" : text
  }
}

extension Service: CustomStringConvertible {
  /// The UUID and the handles, such as `180D 0x0001-0x0009`.
  public var description: String {
    "\(uuid) \(handle)-\(endGroupHandle)" + (isPrimary ? "" : " (secondary)")
  }
}

extension Characteristic: CustomStringConvertible {
  /// The UUID, the handle of the value and the properties, such as `2A37 0x0003 (notify)`.
  public var description: String { "\(uuid) \(valueHandle) (\(properties))" }
}

extension Descriptor: CustomStringConvertible {
  /// The UUID and the handle, such as `2902 0x0004`.
  public var description: String { "\(uuid) \(handle)" }
}
