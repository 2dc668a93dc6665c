/// What a connection has sent and received.
public struct ConnectionCounters: Equatable, Sendable {
  /// PDUs sent.
  public internal(set) var sent: UInt64 = 0
  /// PDUs received.
  public internal(set) var received: UInt64 = 0
  /// Values received without a consumer.
  public internal(set) var unclaimedValues: UInt64 = 0
  /// Values received that wait for their consumers.
  public internal(set) var waitingValues = 0
}
