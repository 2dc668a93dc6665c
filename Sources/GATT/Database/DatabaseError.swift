import ATT

/// Why a service cannot be added or removed. The database is as it was.
public enum DatabaseError: Error, Equatable, Sendable {
  /// There is an attribute with this handle, or it is inside another service.
  case handleTaken(AttributeHandle)
  /// A given handle is not after the ones before it in its service.
  case handleOutOfOrder(AttributeHandle)
  /// 0x0000, or past the given end of the service.
  case handleOutOfRange(AttributeHandle)
  /// No room is left before 0xFFFF.
  case noHandlesLeft
  /// A value longer than its limit.
  case valueTooLong(AttributeHandle, Int, limit: Int)
  /// An include names a handle where no service begins.
  case noSuchService(AttributeHandle)
  /// The service cannot be removed while the one at this handle includes it.
  case included(by: AttributeHandle)
  /// There is no attribute with this handle, or it has no value kept by the server.
  case noSuchValue(AttributeHandle)
}
