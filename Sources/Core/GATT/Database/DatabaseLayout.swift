import AttoATT

extension Database {
  /// The handles of an added service.
  public struct Layout: Equatable, Sendable {
    /// The range from the declaration to the last handle.
    public let range: HandleRange
    /// The characteristics, in the order of the definition.
    public let characteristics: [CharacteristicLayout]

    /// The first characteristic with this UUID.
    ///
    /// Traps if the service has none, because the definition is the program's own. Look through
    /// ``characteristics`` where it comes from elsewhere.
    public subscript(uuid: BluetoothUUID) -> CharacteristicLayout {
      for characteristic in characteristics where characteristic.uuid == uuid {
        return characteristic
      }
      // Unlike a precondition, this prints its message in release builds too.
      fatalError(absence(of: uuid))
    }

    /// The message for a characteristic that the service does not have.
    func absence(of uuid: BluetoothUUID) -> String {
      var known = ""
      for characteristic in characteristics {
        known += (known.isEmpty ? "" : ", ") + characteristic.uuid.description
      }
      return "the service has no characteristic \(uuid)"
        + (known.isEmpty ? ": it has none" : ": it has \(known)")
    }
  }

  /// The handles of an added characteristic.
  public struct CharacteristicLayout: Equatable, Sendable {
    /// The UUID.
    public let uuid: BluetoothUUID
    /// The handle of the declaration.
    public let declarationHandle: AttributeHandle
    /// The handle of the value.
    public let valueHandle: AttributeHandle
    /// The handle of the Client Characteristic Configuration, if there is one.
    public let configurationHandle: AttributeHandle?
    /// The handles of all descriptors in order, including the configuration.
    public let descriptorHandles: [AttributeHandle]
  }
}
