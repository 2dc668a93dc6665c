/// What a server has to do at the moment, and what it has dropped.
public struct ServerCounters: Equatable, Sendable {
  /// Clients that are connected.
  public var clients = 0
  /// Handlers that have begun and not ended.
  public var handlers = 0
  /// Commands dropped since the start, because 4096 of their client waited for a handler.
  public var droppedCommands: UInt64 = 0
  /// Values dropped since the start, because their client did not take them in time. See
  /// ``ConnectionOptions/backlog``.
  public var droppedValues: UInt64 = 0

  /// Creates counters.
  public init(
    clients: Int = 0, handlers: Int = 0, droppedCommands: UInt64 = 0, droppedValues: UInt64 = 0
  ) {
    self.clients = clients
    self.handlers = handlers
    self.droppedCommands = droppedCommands
    self.droppedValues = droppedValues
  }
}

extension LocalServer {
  /// The counters now.
  ///
  /// - Throws: `cancelled`, and nothing else.
  public var counters: ServerCounters {
    get async throws(AttoError) {
      try await onLoop { core in
        ServerCounters(
          clients: core.connections.count, handlers: core.handlers.runningCount,
          droppedCommands: core.handlers.droppedCommands, droppedValues: core.droppedValues)
      }
    }
  }
}
