/// What decides how fast an LE link can be: its PHY, its timetable, the length of its packets.
///
/// Times are nanoseconds.
public struct LinkParameters: Sendable, Hashable {
  /// In both directions.
  public var phy: PHY
  /// From one connection event to the next (connInterval): a multiple of 1.25 ms within
  /// ``intervalRange``.
  public var interval: Int64
  /// The longest event, if it is shorter than the interval.
  public var eventLength: Int64?
  /// The longest payload of a data packet (connEffectiveMaxTxOctets), 27 to 251. Vol 6, Part B,
  /// 4.5.10.
  public var dataLength: Int
  /// Whether packets carry a MIC.
  public var isEncrypted: Bool
  /// The share of exchanges that fail, because either packet of one was not received: 0 to 0.9.
  public var packetErrorRate: Double
  /// Data packets of one event, if the controller limits them.
  public var packetsPerEvent: Int?
  /// How a controller decides whether another packet fits an event.
  public var scheduling: Scheduling

  /// What a controller wants to be left of an event before it begins another exchange.
  public enum Scheduling: Sendable, Hashable {
    /// Room for the exchange itself, to the microsecond: the limit that physics sets.
    case exact
    /// Room for a pair of the longest packets in both directions, and time to prepare the next
    /// event (``LinkParameters/preparation``): what controllers do.
    case reserving
  }

  /// The shortest and longest interval: 7.5 ms to 4 s. Vol 6, Part B, 4.5.1.
  public static let intervalRange: ClosedRange<Int64> = 7_500_000...4_000_000_000
  /// Intervals are multiples of this.
  public static let intervalUnit: Int64 = 1_250_000
  /// Legal data lengths. Vol 6, Part B, 4.5.10.
  public static let dataLengthRange = 27...251
  /// Error rates that are accepted; beyond them hardly anything comes through.
  public static let packetErrorRateRange = 0.0...0.9
  /// Packets of an event that can be asked for.
  public static let packetsPerEventRange = 1...10_000
  /// Between two packets of an event (T_IFS): 150 us. Vol 6, Part B, 4.1.1.
  public static let interframeSpace: Int64 = 150_000

  /// What a controller needs between the last packet of an event and the next event.
  ///
  /// Nordic's published rows do not fit any constant guard alone: at 50 ms on 1M 18 packets went
  /// where 20 have room, which wants 3.1 ms at least, while at 7.5 ms 9 of 11 went, which leaves
  /// 1.4 ms at most. They fit if an event is prolonged only while a pair of packets of full length
  /// in both directions has room, as Nordic documents of its Connection Event Length Extension
  /// ("one packet pair at a time", and the length reserved for a link is that of such a pair), plus
  /// 1.12 to 1.20 ms for the preparation of the next event, of which this is the middle.
  public static let preparation: Int64 = 1_150_000

  /// One with these values; its properties say what each means.
  public init(
    phy: PHY = .le1M, interval: Int64 = 30_000_000, eventLength: Int64? = nil,
    dataLength: Int = 251, isEncrypted: Bool = false, packetErrorRate: Double = 0,
    packetsPerEvent: Int? = nil, scheduling: Scheduling = .reserving
  ) {
    self.phy = phy
    self.interval = interval
    self.eventLength = eventLength
    self.dataLength = dataLength
    self.isEncrypted = isEncrypted
    self.packetErrorRate = packetErrorRate
    self.packetsPerEvent = packetsPerEvent
    self.scheduling = scheduling
  }

  /// How long a data packet is on the air.
  public func airTime(payload: Int) -> Int64 {
    phy.airTime(payload: payload, isEncrypted: isEncrypted)
  }

  /// A data packet, the empty one that acknowledges it, and the space after each.
  public func exchangeTime(payload: Int) -> Int64 {
    airTime(payload: payload) + airTime(payload: 0) + 2 * Self.interframeSpace
  }

  /// The same with packets of full length in both directions.
  public var longestPair: Int64 { 2 * (airTime(payload: dataLength) + Self.interframeSpace) }

  /// How much of an event may be used.
  var usable: Int64 { min(interval, eventLength ?? interval) }

  /// Whether an exchange has room in an event of which so much is over.
  func fits(payload: Int, after elapsed: Int64, packets: Int) -> Bool {
    if let packetsPerEvent, packets >= packetsPerEvent { return false }
    let wanted =
      switch scheduling {
      case .exact: exchangeTime(payload: payload)
      case .reserving: longestPair + Self.preparation
      }
    return elapsed + wanted <= usable
  }

  /// The payloads of the packets that carry a PDU: with L2CAP's header (4 octets, Vol 3, Part A,
  /// 3.1), in parts of at most the data length.
  public func packets(ofPDU length: Int) -> [Int] {
    var rest = length + 4
    var packets: [Int] = []
    while rest > 0 {
      packets.append(min(rest, dataLength))
      rest -= dataLength
    }
    return packets
  }
}
