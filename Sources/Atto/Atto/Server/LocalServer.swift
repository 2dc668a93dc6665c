import AttoATT
import AttoEventLoop
import AttoGATT
import AttoLinks
import AttoRadio

/// A GATT server on this device: a database, the handlers of its values, and its clients.
///
/// Functions may be called from any thread; everything happens on the server's loop. Handlers run in
/// tasks off the loop and may take their time; they delay only the response to their client. Inline
/// handlers run on the loop, which saves two changes of thread, and must not block.
///
/// A handler that is set off the loop is in effect when a later call on the server has returned.
public final class LocalServer: Sendable {
  /// The loop on which everything happens, including inline handlers and observers.
  public let loop: Loop
  let core: LoopBound<ServerCore>

  /// A server.
  ///
  /// - Parameters:
  ///   - database: the initial database; ``AttoGATT/Database/init()`` makes one without services.
  ///   - limits: what clients may make the server hold. By default there are fewer clients in a
  ///     process whose memory is limited.
  ///   - memory: stores what bonded clients configure; nil to store nothing.
  public init(
    _ database: Database = Database(name: "Atto"), loop: Loop = .shared,
    limits: ServerLimits = .fittingMemory(), memory: (any ClientMemory)? = nil
  ) {
    self.loop = loop
    core = LoopBound(
      ServerCore(database, loop: loop, handlers: HandlerTable(), limits: limits, memory: memory),
      loop)
  }

  func onLoop<Value: Sendable>(
    _ body: @escaping @Sendable (ServerCore) -> Value
  ) async throws(AttoError) -> Value {
    let core = core
    return try await loop.withWaiter { (waiter: Waiter<Value, AttoError>) in
      waiter.resume(.success(body(core.value)))
    }
  }

  // MARK: Handlers

  /// Sets the handler that answers reads of an attribute whose value the application has.
  ///
  /// It runs in a task of its own, which is cancelled when the client disconnects. It is called after
  /// the handlers of the same client's earlier writes have ended.
  ///
  /// - Parameter body: returns the whole value, of which the server sends the requested part, or
  ///   throws the code to refuse with.
  public func onRead(
    of handle: AttributeHandle,
    _ body: @escaping @Sendable (ReadRequestContext) async throws(ErrorCode) -> [UInt8]
  ) {
    inline { $0.handlers.reads[handle] = .later(body) }
  }

  /// Sets the handler that accepts or refuses values that clients write to an attribute whose value the
  /// application has.
  ///
  /// As ``onWrite(of:_:)``, but the parts of a long or reliable write arrive as one value. Parts that
  /// do not begin at 0 or leave a gap are refused with Invalid Offset. A value may be shorter than the
  /// former one, or empty, whatever its `ValueLimits` are.
  ///
  /// The client's response waits for the handler. An indication to this client is sent with
  /// ``beginIndicating(_:of:to:)`` there, which does not wait for the confirmation.
  ///
  /// - Parameter body: gets the client and the value; returns to accept the write, or throws the code
  ///   to refuse with, which has no effect on commands.
  public func onWriteValue(
    of handle: AttributeHandle,
    _ body: @escaping @Sendable (ClientID, [UInt8]) async throws(ErrorCode) -> Void
  ) {
    inline { $0.handlers.writes[handle] = .whole(body) }
  }

  /// Sets the handler that accepts or refuses writes, part by part. ``onWriteValue(of:_:)`` joins the
  /// parts.
  ///
  /// It runs in a task of its own, which is cancelled when the client disconnects. Prepared writes are
  /// passed together, in order: a long write of 40 octets comes as parts at 0, 18 and 36, if ATT_MTU is
  /// 23. Other writes come one by one; their value may be shorter than the former one, or empty. It is called with one request or command of a
  /// client after another, in the order in which the client sent them. When 4096 commands wait,
  /// further ones are dropped, as ATT allows.
  ///
  /// Indicate with ``beginIndicating(_:of:to:)`` there: see ``indicate(_:of:to:)``.
  ///
  /// - Parameter body: returns to accept the write, or throws the code to refuse with, which has no
  ///   effect on commands.
  public func onWrite(
    of handle: AttributeHandle,
    _ body: @escaping @Sendable ([WriteRequestContext]) async throws(ErrorCode) -> Void
  ) {
    inline { $0.handlers.writes[handle] = .later(body) }
  }

  /// Sets a handler that answers reads at once, on the loop. While it runs, no other client is served:
  /// it must not block.
  public func onReadInline(
    of handle: AttributeHandle, _ body: @escaping @Sendable (ReadRequestContext) -> ReadAnswer
  ) {
    inline { $0.handlers.reads[handle] = .inline(body) }
  }

  /// Sets a handler that accepts or refuses writes at once, on the loop, with the value where it was
  /// received. While it runs, no other client is served: it must not block.
  public func onWriteInline(
    of handle: AttributeHandle, _ body: @escaping @Sendable (WriteOrigin, RawSpan) -> WriteAnswer
  ) {
    inline { $0.handlers.writes[handle] = .inline(body) }
  }

  /// Sets the handler that decides who may access attributes that require authorization. Without one,
  /// access is refused. ``peer(of:)`` describes the client.
  ///
  /// It runs in a task of its own, like the handlers of values. A command cannot wait for it: those to
  /// attributes that require authorization are dropped, unless the handler is inline.
  public func onAuthorize(_ body: @escaping @Sendable (AuthorizationRequest) async -> Bool) {
    inline { $0.handlers.authorization = .later(body) }
  }

  /// Sets a handler that decides at once, on the loop, in place of ``onAuthorize(_:)``. While it runs,
  /// no other client is served: it must not block. ``peerNow(of:)`` describes the client.
  public func onAuthorizeInline(_ body: @escaping @Sendable (AuthorizationRequest) -> Bool) {
    inline { $0.handlers.authorization = .inline(body) }
  }

  func inline(_ body: @escaping @Sendable (ServerCore) -> Void) {
    let core = core
    loop.inline { body(core.value) }
  }

  // MARK: Events

  /// Calls `body` with each event, in order, on the loop. Must be quick.
  ///
  /// - Returns: the observation, which ends when it is released.
  public func observe(
    _ body: @escaping @Sendable (ServedEvent) -> Void
  ) async throws(AttoError) -> ServerObservation {
    let id = try await onLoop { $0.observe(body) }
    return ServerObservation(self, id)
  }

  /// The clients that are connected now.
  ///
  /// - Throws: `cancelled`, and nothing else.
  public var clients: [ClientID] {
    get async throws(AttoError) {
      try await onLoop { $0.connections.compactMap { $0.session.client?.id } }
    }
  }

  /// Closes the connection to a client, or to all clients if nil.
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

  /// The same for other modules. Traps off the loop's thread. Throws `tooManyClients`.
  package func serve(_ link: any Link, _ options: ConnectionOptions) throws(AttoError) {
    _ = try attach(link, options)
  }
}

/// An observation of a server's events. It ends when it is released.
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
