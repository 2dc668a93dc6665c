import ATT
import GATT

// What is in the database, for those who are told handles by others.

extension LocalServer {
  /// The type of the attribute with this handle; nil if there is none.
  ///
  /// - Throws: `cancelled`, and nothing else.
  public func type(of handle: AttributeHandle) async throws(AttoError) -> BluetoothUUID? {
    try await onLoop { $0.server.database.type(of: handle) }
  }

  /// The Client Characteristic Configuration of the characteristic whose value has this handle; nil
  /// if it has none, so that nobody can subscribe to it. Vol 3, Part G, 3.3.3.3.
  ///
  /// - Throws: `cancelled`, and nothing else.
  public func configuration(
    ofValue handle: AttributeHandle
  ) async throws(AttoError) -> AttributeHandle? {
    try await onLoop { $0.server.database.configuration(ofValue: handle) }
  }
}
