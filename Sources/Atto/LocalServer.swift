import ATT
import EventLoop
import GATT
import Links
import Radio

/// A GATT server on this device: a database, the handlers of its values, and the clients that
/// are connected to it.
///
/// Functions may be called from any thread; everything happens on the server's loop. Handlers
/// that are said to run inline do so on the loop and must be quick; others may take their time
/// and delay only the response to the client that asked.
///
/// A handler that is set off the loop is in force once a later call on the server has returned.
public final class LocalServer: Sendable {
  /// Where everything happens, inline handlers and observers among it.
  public let loop: Loop
  let core: LoopBound<ServerCore>

  /// - Parameters:
  ///   - database: what is there from the beginning.
  ///   - limits: what clients may make the server hold.
  ///   - memory: keeps what bonded clients have configured.
  public init(
    _ database: Database = Database(), loop: Loop = .shared,
    limits: ServerLimits = ServerLimits(), memory: (any ClientMemory)? = nil
  ) {
    self.loop = loop
    core = LoopBound(
      ServerCore(database, loop: loop, handlers: HandlerTable(), limits: limits, memory: memory),
      loop)
  }

  // MARK: Database

  /// Adds a service. Clients that are connected and want to know are told (Service Changed).
  ///
  /// - Throws: `database` if it does not fit; nothing has changed then.
  @discardableResult
  public func add(_ service: ServiceDefinition) async throws(AttoError) -> Database.Layout {
    try await change { (core) throws(DatabaseError) in try core.server.add(service) }
  }

  /// Removes the service that this handle declares, and the handlers of its attributes: another
  /// service may get the handles. Clients are told likewise.
  ///
  /// - Returns: the handles that are free again.
  /// - Throws: `database` (`noSuchService`, or what includes it) if it cannot be; nothing has changed
  ///   then. `cancelled`.
  @discardableResult
  public func remove(service handle: AttributeHandle) async throws(AttoError) -> HandleRange {
    try await change { (core) throws(DatabaseError) in
      let range = try core.server.remove(service: handle)
      core.handlers.forget(range)
      return range
    }
  }

  /// Replaces a value that the server keeps. Nobody is notified by this alone.
  ///
  /// - Throws: `database` (`noSuchValue`, `valueTooLong`) if there is no such value, or it is
  ///   beyond its limits; `cancelled`.
  public func setValue(
    of handle: AttributeHandle, to value: [UInt8]
  ) async throws(AttoError) {
    try await change { (core) throws(DatabaseError) in
      try core.server.setValue(of: handle, to: value)
    }
  }

  /// The value that the server keeps; nil if the application or the client has it.
  ///
  /// - Throws: `cancelled`, and nothing else.
  public func value(of handle: AttributeHandle) async throws(AttoError) -> [UInt8]? {
    try await onLoop { $0.server.database.value(of: handle) }
  }

  /// The handle after the last service; nil at the end of the space.
  ///
  /// - Throws: `cancelled`, and nothing else.
  public var freeHandle: AttributeHandle? {
    get async throws(AttoError) { try await onLoop { $0.server.database.freeHandle } }
  }

  /// ``value(of:)`` from the loop, without waiting: for handlers and observers that run there.
  ///
  /// Traps off the loop's thread.
  public func keptValue(of handle: AttributeHandle) -> [UInt8]? {
    core.value.server.database.value(of: handle)
  }

  private func change<Value: Sendable>(
    _ body: @escaping @Sendable (ServerCore) throws(DatabaseError) -> Value
  ) async throws(AttoError) -> Value {
    let core = core
    return try await loop.complete { completion in
      do throws(DatabaseError) {
        let value = try body(core.value)
        core.value.databaseChanged()
        completion.resume(.success(value))
      } catch {
        completion.resume(.failure(.database(error)))
      }
    }
  }

  func onLoop<Value: Sendable>(
    _ body: @escaping @Sendable (ServerCore) -> Value
  ) async throws(AttoError) -> Value {
    let core = core
    return try await loop.complete { completion in
      completion.resume(.success(body(core.value)))
    }
  }

  // MARK: Handlers

  /// Answers reads of an attribute whose value the application has. Runs inline.
  public func onRead(
    of handle: AttributeHandle,
    inline body: @escaping @Sendable (ReadRequestContext) -> ReadAnswer
  ) {
    inline { $0.handlers.reads[handle] = .inline(body) }
  }

  /// Answers reads of an attribute whose value the application has. May take its time, and comes
  /// after the writes of the same client whose handlers take theirs.
  public func onRead(
    of handle: AttributeHandle,
    _ body: @escaping @Sendable (ReadRequestContext) async -> LateAnswer
  ) {
    inline { $0.handlers.reads[handle] = .later(body) }
  }

  /// Judges writes to an attribute whose value the application has. Runs inline, with the value
  /// where it was received.
  public func onWrite(
    of handle: AttributeHandle,
    inline body: @escaping @Sendable (WriteOrigin, RawSpan) -> WriteAnswer
  ) {
    inline { $0.handlers.writes[handle] = .inline(body) }
  }

  /// Judges writes to an attribute whose value the application has. May take its time.
  ///
  /// Prepared writes come together, in order; all other writes alone. Requests and commands of one
  /// client come one after another, as it sent them, to all handlers that may take their time;
  /// when 4096 wait, further commands are dropped, as ATT allows.
  ///
  /// - Parameter body: returns nil to accept, or why not. For commands the answer is dropped.
  public func onWrite(
    of handle: AttributeHandle,
    _ body: @escaping @Sendable ([WriteRequestContext]) async -> ErrorCode?
  ) {
    inline { $0.handlers.writes[handle] = .later(body) }
  }

  /// Decides about attributes that require authorization. Runs inline; without it nobody is
  /// authorized.
  public func onAuthorize(_ body: @escaping @Sendable (Question) -> WriteAnswer) {
    inline { $0.handlers.authorization = body }
  }

  func inline(_ body: @escaping @Sendable (ServerCore) -> Void) {
    let core = core
    loop.inline { body(core.value) }
  }

  // MARK: Events

  /// Calls `body` with what happens, in order, on the loop. Must be quick.
  ///
  /// - Returns: what ends it when it is released.
  public func observe(
    _ body: @escaping @Sendable (ServedEvent) -> Void
  ) async throws(AttoError) -> ServerObservation {
    let id = try await onLoop { $0.observe(body) }
    return ServerObservation(self, id)
  }

  /// Whoever is connected now.
  ///
  /// - Throws: `cancelled`, and nothing else.
  public var clients: [ClientID] {
    get async throws(AttoError) {
      try await onLoop { $0.connections.compactMap { $0.session.client?.id } }
    }
  }

  /// Closes the connection with a client; nil: with all of them.
  public func disconnect(_ client: ClientID? = nil) {
    inline { core in
      for connection in core.connections
      where client == nil || connection.session.client?.id == client {
        connection.close()
      }
    }
  }

  // MARK: Links

  /// Serves the peer of a link.
  func attach(
    _ link: any Link, _ options: ConnectionOptions
  ) throws(AttoError) -> ConnectionCore {
    try core.value.attach(link, options: options)
  }
}

/// Somebody who is told what happens at a server, until this is released.
public final class ServerObservation: Sendable {
  private let server: LocalServer
  private let id: Int

  init(_ server: LocalServer, _ id: Int) {
    self.server = server
    self.id = id
  }

  deinit {
    let id = id
    server.inline { $0.removeObserver(id) }
  }
}
