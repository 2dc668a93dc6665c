import AttoATT

extension Profile {
  /// The scripted behaviour of a characteristic's value, for tests that need a misbehaving server and
  /// benchmarks that need a busy one. The page of ``Profile`` says how behaviours combine.
  public struct Behaviour: Sendable, Equatable {
    /// The interval of notifications to each subscriber.
    public var notifyEvery: Duration?
    /// The interval of indications to each subscriber. A client that has not confirmed the last one
    /// misses a turn.
    public var indicateEvery: Duration?
    /// The error that answers every permitted read.
    public var readError: ErrorCode?
    /// The error that answers every permitted write request. The value does not change.
    public var writeError: ErrorCode?
    /// The delay of responses to reads and writes.
    public var delay: Duration?
    /// The characteristic that notifies (or indicates) written values to the client that wrote them.
    public var echo: Target?
    /// The length of a little-endian counter at the start of the value, 1 to 8 octets. It is
    /// incremented after each read, notification and indication, and wraps.
    public var counter: Int?
    /// Whether writes of up to `maxLength` octets are accepted and counted, but not stored.
    public var isSink = false
    /// Whether it is a sink that counts the numbered writes of each client and answers reads with a
    /// ``WriteTally``. An empty write clears the client's tally.
    public var isTally = false
    /// Whether it is a sink that counts as Nordic's throughput service does, and answers reads with
    /// ``ThroughputMetrics``. A write of one octet clears the client's metrics.
    public var hasThroughputMetrics = false
    /// Whether the values of the stream have a ``CheckSum``, and the tally counts those that are wrong.
    public var hasCheckSums = false
    /// The characteristic that notifies the octets of a sink, one second after a client's first write since the last
    /// notification, to that client: four octets, little-endian.
    public var octetsPerSecond: Target?
    /// Whether a read returns the CPU time of the server's process: microseconds in eight octets,
    /// little-endian.
    public var isProcessTime = false
    /// A burst of notifications.
    public var burst: Burst?
    /// The length of each value of an endless stream, 4 to 512 octets. The values are numbered like
    /// those of a burst, from 0 at each subscription, and sent as fast as the link takes them while
    /// the client is subscribed. If the value is writable, a client sets its own size by writing
    /// it in two octets, little-endian.
    public var streamSize: Int?
    /// Whether the values of the stream are those of ``STThroughput``.
    public var streamIsST = false
    /// How the values of the stream are numbered.
    package var numbering: ValueNumbering { streamIsST ? .st : hasCheckSums ? .checked : .plain }
    /// Whether the program that runs the server answers reads and writes. It excludes all others.
    public var isAnswered = false

    /// Whether the application must answer reads and writes. Otherwise the database stores the value,
    /// and the application only sends it.
    public var needsApplication: Bool {
      readError != nil || writeError != nil || delay != nil || echo != nil || counter != nil
        || isSink || isProcessTime || isAnswered || streamSize != nil
        || burst?.trigger == .write
    }
  }

  /// A number of notifications, sent as fast as the link takes them.
  ///
  /// Each value starts with its number in the burst, from 0, in four octets, little-endian. Octet `i`
  /// after those is `(number + i) mod 256`.
  public struct Burst: Sendable, Equatable {
    /// The number of notifications, 1 to 1,000,000.
    public var count: Int
    /// The length of each value, 4 to 512 octets. A server sends at most ATT_MTU - 3 of them.
    public var size: Int
    /// The event that starts the burst.
    public var trigger: Trigger

    /// An event that starts a burst.
    public enum Trigger: String, Sendable, CaseIterable {
      /// The client turns notifications on.
      case subscribe
      /// The client writes the value.
      case write
    }

    /// The value of a notification with this number and length in octets.
    public static func value(_ number: UInt32, size: Int) -> [UInt8] {
      ValueNumbering.counting(number, size: size)
    }
  }
}
