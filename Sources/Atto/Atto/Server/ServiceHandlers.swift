import AttoATT
import AttoGATT

/// The handlers of a service's characteristics, by UUID, for ``LocalServer/add(_:handlers:)``. Of
/// several characteristics with one UUID, the first has the handler.
public struct ServiceHandlers: Sendable {
  private var reads: [BluetoothUUID: HandlerTable.Read] = [:]
  private var writes: [BluetoothUUID: HandlerTable.Write] = [:]

  /// As ``LocalServer/onRead(of:_:)``: `body` returns the value, or throws the code to refuse with.
  public mutating func onRead(
    of uuid: BluetoothUUID,
    _ body: @escaping @Sendable (ReadRequestContext) async throws(ErrorCode) -> [UInt8]
  ) {
    reads[uuid] = .later(body)
  }

  /// As ``LocalServer/onWriteValue(of:_:)``: `body` accepts the value, or throws the code to refuse
  /// with.
  public mutating func onWriteValue(
    of uuid: BluetoothUUID,
    _ body: @escaping @Sendable (ClientID, [UInt8]) async throws(ErrorCode) -> Void
  ) {
    writes[uuid] = .whole(body)
  }

  /// As ``LocalServer/onWrite(of:_:)``: `body` accepts, or throws the code to refuse with.
  public mutating func onWrite(
    of uuid: BluetoothUUID,
    _ body: @escaping @Sendable ([WriteRequestContext]) async throws(ErrorCode) -> Void
  ) {
    writes[uuid] = .later(body)
  }

  /// As ``LocalServer/onReadInline(of:_:)``.
  public mutating func onReadInline(
    of uuid: BluetoothUUID, _ body: @escaping @Sendable (ReadRequestContext) -> ReadAnswer
  ) {
    reads[uuid] = .inline(body)
  }

  /// As ``LocalServer/onWriteInline(of:_:)``.
  public mutating func onWriteInline(
    of uuid: BluetoothUUID, _ body: @escaping @Sendable (WriteOrigin, RawSpan) -> WriteAnswer
  ) {
    writes[uuid] = .inline(body)
  }

  /// Sets the handlers of a service that was added.
  func set(in table: HandlerTable, _ layout: Database.Layout) {
    for (uuid, read) in reads { table.reads[layout[uuid].valueHandle] = read }
    for (uuid, write) in writes { table.writes[layout[uuid].valueHandle] = write }
  }

  /// Checks that each value of the application has a handler for what its permissions allow.
  func check(_ service: ServiceDefinition) throws(DatabaseError) {
    for characteristic in service.characteristics {
      guard case .application = characteristic.value else { continue }
      let permissions = characteristic.permissions
      if permissions.read != .denied && reads[characteristic.uuid] == nil
        || permissions.write != .denied && writes[characteristic.uuid] == nil
      {
        throw .noHandler(characteristic.uuid)
      }
    }
  }
}

extension LocalServer {
  /// Adds a service and the handlers of its values, so that no client finds a value without its
  /// handler.
  ///
  /// ```swift
  /// try await server.add(service) { handlers in
  ///   handlers.onRead(of: .bodySensorLocation) { _ in [1] }
  /// }
  /// ```
  ///
  /// A handler for a UUID that the service does not have ends the program with a message.
  ///
  /// - Throws: `database(.noHandler)` if a value of the application can be read or written and has
  ///   no handler for it; `database` if the service cannot be added. Nothing has changed then.
  ///   `cancelled`.
  @discardableResult
  public func add(
    _ service: ServiceDefinition, handlers set: (inout ServiceHandlers) -> Void
  ) async throws(AttoError) -> Database.Layout {
    var handlers = ServiceHandlers()
    set(&handlers)
    let chosen = handlers
    return try await change { (core) throws(DatabaseError) in
      try chosen.check(service)
      let layout = try core.server.add(service)
      chosen.set(in: core.handlers, layout)
      return layout
    }
  }
}
