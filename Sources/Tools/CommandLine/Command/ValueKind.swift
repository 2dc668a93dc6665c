/// What a value on the command line names, for completion.
package enum ValueKind: Sendable {
  case other
  case file
  /// The handle of an attribute.
  case handle
  /// A peer to connect to.
  case peer
  /// Where a server listens.
  case place
  /// An adapter that scans or advertises.
  case radio
  /// An adapter of the kernel, hciN.
  case adapter
  /// A subcommand.
  case command
  /// One of these words, which are asked for only when they are needed.
  case words(@Sendable () -> [String])
}
