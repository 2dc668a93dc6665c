import AttoATT
import AttoEventLoop
import AttoGATT

/// The database of a server.
extension LocalServer {
  /// Adds a service. Connected clients that have subscribed to Service Changed are told.
  ///
  /// - Throws: `database` if it cannot be added; nothing has changed then.
  @discardableResult
  public func add(_ service: ServiceDefinition) async throws(AttoError) -> Database.Layout {
    try await change { (core) throws(DatabaseError) in try core.server.add(service) }
  }

  /// Removes the service that this handle declares, and the handlers of its attributes. Its handles
  /// may be used again. Clients are told as for ``add(_:)``.
  ///
  /// - Returns: the handles that are free again.
  /// - Throws: `database` if there is no such service or another one includes it; nothing has changed
  ///   then. `cancelled`.
  @discardableResult
  public func remove(service handle: AttributeHandle) async throws(AttoError) -> HandleRange {
    try await change { (core) throws(DatabaseError) in
      let range = try core.server.remove(service: handle)
      core.handlers.forget(range)
      return range
    }
  }

  /// Replaces a value that the server stores. Clients are not notified.
  ///
  /// - Throws: `database` (`noSuchValue`, `valueTooLong`, `wrongLength`) if there is no such value or the new one
  ///   exceeds its limits; `cancelled`.
  public func setValue(
    of handle: AttributeHandle, to value: [UInt8]
  ) async throws(AttoError) {
    try await change { (core) throws(DatabaseError) in
      try core.server.setValue(of: handle, to: value)
    }
  }

  /// The value that the server stores; nil if there is none, or if the application has it.
  ///
  /// - Throws: `cancelled`, and nothing else.
  public func value(of handle: AttributeHandle) async throws(AttoError) -> [UInt8]? {
    try await onLoop { $0.server.database.value(of: handle) }
  }

  /// The handle after the last service; nil if there is no free handle after it.
  ///
  /// - Throws: `cancelled`, and nothing else.
  public var freeHandle: AttributeHandle? {
    get async throws(AttoError) { try await onLoop { $0.server.database.freeHandle } }
  }

  /// ``value(of:)`` on the loop, without waiting: for handlers and observers.
  ///
  /// Traps off the loop's thread.
  public func valueNow(of handle: AttributeHandle) -> [UInt8]? {
    core.value(in: #function).server.database.value(of: handle)
  }

  /// The type of the attribute with this handle; nil if there is none.
  ///
  /// - Throws: `cancelled`, and nothing else.
  public func type(of handle: AttributeHandle) async throws(AttoError) -> BluetoothUUID? {
    try await onLoop { $0.server.database.type(of: handle) }
  }

  /// The Client Characteristic Configuration of the characteristic whose value has this handle; nil
  /// if it has none. Vol 3, Part G, 3.3.3.3.
  ///
  /// - Throws: `cancelled`, and nothing else.
  public func configuration(
    ofValue handle: AttributeHandle
  ) async throws(AttoError) -> AttributeHandle? {
    try await onLoop { $0.server.database.configuration(ofValue: handle) }
  }

  func change<Value: Sendable>(
    _ body: @escaping @Sendable (ServerCore) throws(DatabaseError) -> Value
  ) async throws(AttoError) -> Value {
    let core = core
    return try await loop.withWaiter { (waiter: Waiter<Value, AttoError>) in
      do throws(DatabaseError) {
        let value = try body(core.value)
        core.value.databaseChanged()
        waiter.resume(.success(value))
      } catch {
        waiter.resume(.failure(.database(error)))
      }
    }
  }
}
