/// The kind of channel of a bearer, and its limits.
public struct BearerConfiguration: Equatable, Sendable {
  /// The kind of channel that carries the PDUs. Only the fixed channel has the MTU exchange and
  /// signed writes. Vol 3, Part F, 3.2.8, 3.2.11 and 3.4.2.
  public enum Channel: Equatable, Sendable {
    /// The fixed channel of an LE link (CID 4), or a socket in its place. ATT_MTU is 23 until it is
    /// exchanged.
    case fixed
    /// An enhanced bearer or BR/EDR, where ATT_MTU is the MTU of the channel.
    case enhanced(mtu: Int)
  }

  /// The kind of channel.
  public var channel: Channel
  /// Whether the link may have carried another bearer before this one, without the peer's
  /// knowledge.
  ///
  /// Linux keeps an LE link for seconds after its last socket has closed, and a client that
  /// connects again meanwhile gets the same link. So the last exchange of ATT_MTU by the peer
  /// counts, and until an exchange of our own, its responses and values may have the length that
  /// was agreed on before.
  public var linkMayBeReused = false
  /// The longest PDU that this device can receive, in octets: 23 to 65535. It applies to both roles
  /// (Vol 3, Part F, 3.4.2.2). More than 517 is of no use, because values have at most 512 octets.
  public var receiveMTU: Int
  /// How long a transaction may last. The specification says 30 s (Vol 3, Part F, 3.3.3).
  public var transactionTimeout: Duration {
    get { .nanoseconds(timeout) }
    set { timeout = (Instant.zero + newValue).nanoseconds }
  }
  /// The same in nanoseconds. Dividing a `Duration` for each request would cost more than everything
  /// else that is done for a request.
  public var timeout: Int64 = 30_000_000_000
  /// How many requests may wait behind the one in flight, and likewise indications.
  public var maximumWaiting: Int
  /// How many requests a peer may send while its first one is unanswered, before the bearer fails.
  /// The specification allows none.
  public var maximumPipelined: Int
  /// The size of the outbox, in octets, from which ``Bearer/isCongested`` is true.
  public var outboxLimit: Int

  /// Creates a configuration. The defaults suit a link of LE. Without a `transactionTimeout` it is
  /// 30 s.
  public init(
    channel: Channel = .fixed, receiveMTU: Int = 517,
    transactionTimeout: Duration? = nil, maximumWaiting: Int = 256,
    maximumPipelined: Int = 16, outboxLimit: Int = 8192
  ) {
    self.channel = channel
    self.receiveMTU = receiveMTU
    self.maximumWaiting = maximumWaiting
    self.maximumPipelined = maximumPipelined
    self.outboxLimit = outboxLimit
    if let transactionTimeout { self.transactionTimeout = transactionTimeout }
  }
}
