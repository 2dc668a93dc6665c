import ATT

extension Profile {
  /// What a characteristic's value does by itself: the means of a tester to make a server
  /// misbehave, and of a benchmark to make it busy. The page of `Profile` tells how
  /// they combine.
  public struct Behaviour: Sendable, Equatable {
    /// Notifies each subscriber of the value this often.
    public var notifyEvery: Duration?
    /// Indicates the value to each subscriber this often; a confirmation still outstanding
    /// skips a turn.
    public var indicateEvery: Duration?
    /// Every permitted read is answered with this error.
    public var readError: ErrorCode?
    /// Every permitted write request is answered with this error, and nothing is kept.
    public var writeError: ErrorCode?
    /// Responses to reads and writes of this value wait so long.
    public var delay: Duration?
    /// What is written here is notified (or indicated) there, to the client that wrote it.
    public var echo: Target?
    /// Octets of a little-endian counter, 1 to 8, at the start of the value, which grows by
    /// one after each read and each notification or indication, and wraps.
    public var counter: Int?
    /// Accepts writes of any length up to `maxLength`, counts them and keeps nothing.
    public var isSink = false
    /// Counts each client's numbered writes, as a sink, and tells the tally to whoever reads: see
    /// ``WriteTally``. An empty write clears the client's tally.
    public var isTally = false
    /// A run of notifications.
    public var burst: Burst?
    /// Octets of each value of an endless run, 4 to 512: numbered as a burst's, notified as fast as
    /// the link takes them (or indicated one after another) for as long as the client is
    /// subscribed. Where the value can be written, two octets, least significant first, set the
    /// size for the client that writes them; its numbers begin at 0 with each subscription.
    public var streamSize: Int?

    /// As a server behaves by itself.
    public init() {}
  }

  /// A run of notifications as fast as the link takes them.
  ///
  /// Each begins with its number within the run, little-endian in four octets, from 0; the
  /// rest of its octets count up from the number's low octet plus four.
  public struct Burst: Sendable, Equatable {
    /// Notifications in the run: 1 to 1,000,000.
    public var count: Int
    /// Octets of each, 4 to 512; a server sends no more than ATT_MTU - 3 of them.
    public var size: Int
    /// What sets it off.
    public var trigger: Trigger

    /// One with these values; its properties say what each means.
    public init(count: Int, size: Int, on trigger: Trigger) {
      self.count = count
      self.size = size
      self.trigger = trigger
    }

    /// What sets a burst off.
    public enum Trigger: String, Sendable, CaseIterable {
      /// The client turns notifications on.
      case subscribe
      /// The client writes the value.
      case write
    }

    /// The value of notification `number`, cut to `limit` octets.
    public func value(_ number: UInt32, limit: Int) -> [UInt8] {
      Self.value(number, size: min(size, limit))
    }

    /// The value with a number, of so many octets.
    public static func value(_ number: UInt32, size: Int) -> [UInt8] {
      (0..<max(0, size)).map { offset in
        offset < 4
          ? UInt8(truncatingIfNeeded: number >> (8 * UInt32(offset)))
          : UInt8(truncatingIfNeeded: UInt64(number) + UInt64(offset))
      }
    }
  }
}
