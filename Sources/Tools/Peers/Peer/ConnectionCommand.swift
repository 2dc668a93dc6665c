import Atto
import AttoCommandLine
import AttoStore

/// A command whose work is done on an open connection: one that it opens for itself, or one that
/// `atto session` holds.
package protocol ConnectionCommand: Command, Sendable {
  /// Reads the operands and the command's own options.
  ///
  /// - Throws: `UsageError`.
  init(_ arguments: Arguments, for endpoint: Endpoint) throws

  /// Whether the operand `-` stands for the text of standard input, which then is hex.
  static var readsInput: Bool { get }

  /// What the command reads or writes, so that a session can carry it out beside others; nil if it
  /// is to be alone on its connection.
  static func access(_ arguments: Arguments) -> CommandAccess?

  /// Whether the command needs the store even on links without bonds.
  var needsStore: Bool { get }

  func run(on peer: ConnectedPeer) async throws
}

extension ConnectionCommand {
  package static var readsInput: Bool { false }
  package static func access(_ arguments: Arguments) -> CommandAccess? { nil }
  package var needsStore: Bool { false }

  package static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let connecting = try Connecting(arguments)
    let arguments =
      readsInput ? try await arguments.readingInput(on: loop) : arguments
    let command = try Self(arguments, for: connecting.endpoint)
    let results = Results(arguments)
    try await connecting.use(on: loop, needsStore: command.needsStore) { connection, store in
      try await command.run(
        on: ConnectedPeer(
          connection: connection, endpoint: connecting.endpoint, store: store, results: results,
          loop: loop))
    }
  }
}

/// What a ``ConnectionCommand`` works with.
package struct ConnectedPeer: Sendable {
  package let connection: Connection
  package let endpoint: Endpoint
  /// nil if there is none, or with `--no-store`.
  package let store: StoreFile?
  package let results: Results
  package let loop: Loop
  /// What the commands on this connection have subscribed to, by the handle of the configuration.
  package let subscriptions: SharedSubscriptions<UInt64>
  /// The session that holds the connection; nil if the command has opened it.
  package var place: (any SessionPlace)?
  /// The parameters of the link that a session holds; nil where it has none.
  package var link: LinkReport?

  package init(
    connection: Connection, endpoint: Endpoint, store: StoreFile?, results: Results, loop: Loop,
    subscriptions: SharedSubscriptions<UInt64>? = nil, place: (any SessionPlace)? = nil,
    link: LinkReport? = nil
  ) {
    (self.connection, self.endpoint, self.store) = (connection, endpoint, store)
    (self.results, self.loop, self.place, self.link) = (results, loop, place, link)
    self.subscriptions = subscriptions ?? SharedSubscriptions(on: loop, connection)
  }

  /// Notes that the command has done its work but to deliver values.
  package func begun() async { await place?.begun() }

  /// Tells the session about a value, which a script may expect.
  package func received(_ value: ReceivedValue) async {
    await place?.received(value)
  }
}
