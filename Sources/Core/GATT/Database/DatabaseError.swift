import AttoATT

/// Why a service cannot be added or removed, or a value not set. The database has not changed.
@nonexhaustive public enum DatabaseError: Error, Equatable, Sendable {
  /// The handle is in use or inside another service.
  case handleTaken(AttributeHandle)
  /// A handle in the definition is not after the previous ones of the service.
  case handleOutOfOrder(AttributeHandle)
  /// A handle is 0x0000 or after the end of the service.
  case handleOutOfRange(AttributeHandle)
  /// There are not enough handles up to 0xFFFF.
  case noHandlesLeft
  /// A value is longer than its limit.
  case valueTooLong(AttributeHandle, Int, limit: Int)
  /// The value has a fixed length, and the new one has another.
  case wrongLength(AttributeHandle, Int, fixed: Int)
  /// An include refers to a handle without a service declaration.
  case noSuchService(AttributeHandle)
  /// The service at this handle includes the service to remove.
  case included(by: AttributeHandle)
  /// The database does not hold a value for this handle.
  case noSuchValue(AttributeHandle)
  /// The application has the value with this UUID, and no handler for reading or writing it.
  case noHandler(BluetoothUUID)
}
