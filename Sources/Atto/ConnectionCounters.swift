/// What has passed through a connection.
public struct ConnectionCounters: Equatable, Sendable {
  /// PDUs.
  public internal(set) var sent: UInt64 = 0
  /// PDUs that have come.
  public internal(set) var received: UInt64 = 0
  /// Values that came and that nobody had subscribed to.
  public internal(set) var unclaimedValues: UInt64 = 0
}
