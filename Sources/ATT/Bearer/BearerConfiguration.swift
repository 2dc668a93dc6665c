/// The limits of a bearer, and what kind of channel it runs on.
public struct BearerConfiguration: Equatable, Sendable {
  /// What kind of channel carries the PDUs, because the MTU exchange and signed writes exist
  /// only on the first. Vol 3, Part F, 3.2.8, 3.2.11 and 3.4.2.
  public enum Channel: Equatable, Sendable {
    /// The fixed channel of an LE link (CID 4), or a socket that stands for it: ATT_MTU begins
    /// at 23 and is exchanged.
    case fixed
    /// An enhanced bearer or BR/EDR: ATT_MTU is the channel's, from the beginning.
    case enhanced(mtu: Int)
  }

  /// What carries the bearer.
  public var channel: Channel
  /// The link may have carried another bearer before this one, and the peer may not know:
  /// Linux keeps an LE link for seconds after its last socket has closed, and who connects
  /// again meanwhile gets it as it is. Then the peer's last exchange of ATT_MTU counts, as that
  /// of its newest client, and until an exchange of our own the peer's answers and values may
  /// have the length that was agreed on before.
  public var linkMayBeReused = false
  /// What this device can receive, one value for both roles (Vol 3, Part F, 3.4.2.2): 23 to
  /// 65535. Larger values than 517 carry nothing more, as values end at 512 octets.
  public var receiveMTU: Int
  /// How long a transaction may last. The specification's 30 s (Vol 3, Part F, 3.3.3).
  public var transactionTimeout: Duration
  /// Requests that may wait behind the one in flight, and likewise indications.
  public var maximumWaiting: Int
  /// Requests that a peer may send while its first one is unanswered, before the bearer
  /// fails. The specification allows it none.
  public var maximumPipelined: Int
  /// Octets that may wait for the link before ``Bearer/isCongested`` says so.
  public var outboxLimit: Int

  /// One with these values; its properties say what each means.
  public init(
    channel: Channel = .fixed, receiveMTU: Int = 517,
    transactionTimeout: Duration = .seconds(30), maximumWaiting: Int = 256,
    maximumPipelined: Int = 16, outboxLimit: Int = 8192
  ) {
    self.channel = channel
    self.receiveMTU = receiveMTU
    self.transactionTimeout = transactionTimeout
    self.maximumWaiting = maximumWaiting
    self.maximumPipelined = maximumPipelined
    self.outboxLimit = outboxLimit
  }
}
