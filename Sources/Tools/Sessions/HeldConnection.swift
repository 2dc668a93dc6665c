import Atto
import AttoCommandLine
import AttoPeers
import AttoStore

/// A connection that a session holds between commands.
struct HeldConnection: Sendable {
  let endpoint: Endpoint
  let connection: Connection
  let store: StoreFile?
  /// nil where a link has no parameters, or the adapter cannot be asked for them.
  private let link: LinkReport?
  /// Whether it was opened with enhanced bearers, so that requests can run side by side.
  let hasSeveralBearers: Bool
  private let subscriptions: SharedSubscriptions<UInt64>
  /// Ends with the connection: with an error if something else than ``close()`` has ended it.
  let holder: Task<Void, any Error>

  private init(
    _ endpoint: Endpoint, _ connection: Connection, _ store: StoreFile?, _ link: LinkReport?,
    hasSeveralBearers: Bool, _ holder: Task<Void, any Error>, on loop: Loop
  ) {
    (self.endpoint, self.connection, self.store, self.link) = (endpoint, connection, store, link)
    self.hasSeveralBearers = hasSeveralBearers
    subscriptions = SharedSubscriptions(on: loop, connection)
    self.holder = holder
  }

  /// Connects.
  ///
  /// - Throws: what the connection fails with.
  static func open(_ connecting: Connecting, on loop: Loop) async throws -> HeldConnection {
    // Before the link, whose parameters the kernel tells but once.
    let link = try? await LinkReport(connecting.endpoint, on: loop)
    let (opened, continuation) = AsyncStream<(Connection, StoreFile?)>.makeStream()
    let holder = Task(executorPreference: loop.tasks) {
      defer { continuation.finish() }
      try await connecting.use(on: loop) { connection, store in
        continuation.yield((connection, store))
        try await connection.waitUntilClosed()
        if let reason = await connection.endReason, reason != .closed { throw reason }
      }
    }
    return try await withTaskCancellationHandler {
      for await (connection, store) in opened {
        return HeldConnection(
          connecting.endpoint, connection, store, link,
          hasSeveralBearers: try await connection.bearers.count > 1, holder, on: loop)
      }
      try await holder.value
      throw CancellationError()
    } onCancel: {
      holder.cancel()
    }
  }

  /// The peer, for a command of the session; without a request, for the session itself.
  func peer(
    on loop: Loop, results: Results = .text, place: (any SessionPlace)? = nil
  ) -> ConnectedPeer {
    ConnectedPeer(
      connection: connection, endpoint: endpoint, store: store, results: results, loop: loop,
      subscriptions: subscriptions, place: place, link: link)
  }

  /// Closes the connection, and waits until its bond is saved.
  func close() async {
    connection.close()
    _ = await holder.result
  }
}
