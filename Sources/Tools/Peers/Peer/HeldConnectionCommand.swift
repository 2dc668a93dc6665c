import AttoCommandLine

/// A command that opens a connection of its own, or works on the one that a session holds.
package protocol HeldConnectionCommand: Command {
  /// Whether the arguments are for the session's connection.
  static func usesSession(_ arguments: Arguments) -> Bool

  static func run(_ arguments: Arguments, on peer: ConnectedPeer) async throws
}
