/// The parameters that determine the speed of an LE link: PHY, connection events and packet length.
///
/// Times are nanoseconds.
public struct LinkParameters: Sendable, Hashable {
  /// The PHY of both directions.
  public var phy: PHY
  /// The time between connection events (connInterval): a multiple of ``intervalUnit`` in
  /// ``intervalRange``.
  public var interval: Int64
  /// Of how many events one is used while nothing is sent (connSubrateFactor), 1 to 500. Vol 6,
  /// Part B, 4.5.1.
  public var subrate: Int
  /// How many more events are used after one that carried data (connContinuationNumber): 0 to 499
  /// and less than ``subrate``.
  public var continuation: Int
  /// The time between two packets of an event (T_IFS), 0 to 10 ms; 150 us if the devices have not
  /// agreed on another. Vol 6, Part B, 4.1.1 and 5.1.30.
  public var frameSpace: Int64
  /// The maximum length of an event, if it is shorter than the interval.
  public var eventLength: Int64?
  /// The maximum payload of a data packet (connEffectiveMaxTxOctets), 27 to 251. Vol 6, Part B,
  /// 4.5.10.
  public var dataLength: Int
  /// Whether packets carry a MIC.
  public var isEncrypted: Bool
  /// The share of exchanges that fail because either packet was not received: 0 to 0.9.
  public var packetErrorRate: Double
  /// The maximum number of data packets in an event, if the controller limits it.
  public var packetsPerEvent: Int?
  /// The number of links that share the radio of one end, all with these parameters, in ``linksRange``. This is one
  /// of them.
  public var links: Int
  /// How a controller decides whether another packet fits an event.
  public var scheduling: Scheduling

  /// The time that must be left in an event before a controller starts another exchange.
  public enum Scheduling: Sendable, Hashable {
    /// Time for the exchange itself: the physical limit.
    case exact
    /// Time for a pair of packets of maximum length in both directions, and to prepare the next
    /// event (``LinkParameters/preparation``), as real controllers do.
    case reserving
  }

  /// The shortest and longest interval: 375 us to 4 s. Vol 6, Part B, 4.5.1.
  ///
  /// Before version 6.2 of the specification it was 7.5 ms to 4 s, in steps of 1.25 ms.
  public static let intervalRange: ClosedRange<Int64> = 375_000...4_000_000_000
  /// Intervals are multiples of this: 125 us.
  public static let intervalUnit: Int64 = 125_000
  /// The legal subrate factors.
  public static let subrateRange = 1...500
  /// The legal times between two packets.
  public static let frameSpaceRange: ClosedRange<Int64> = 0...10_000_000
  /// The time between two packets until the devices agree on another. Vol 6, Part B, 4.1.1.
  public static let usualFrameSpace: Int64 = 150_000
  /// Legal data lengths. Vol 6, Part B, 4.5.10.
  public static let dataLengthRange = 27...251
  /// The legal error rates.
  public static let packetErrorRateRange = 0.0...0.9
  /// The legal maximum numbers of packets in an event.
  public static let packetsPerEventRange = 1...10_000

  /// The time that a controller needs between the last packet of an event and the next event.
  ///
  /// A constant guard time does not explain Nordic's published figures. At 50 ms on 1M there are 18
  /// packets where 20 fit, so the guard would be at least 3.1 ms. At 7.5 ms there are 9 of 11, so
  /// it would be at most 1.4 ms. The figures fit if an event is extended only while there is time
  /// for a pair of packets of maximum length in both directions, as Nordic documents for its
  /// Connection Event Length Extension, plus 1.12 to 1.20 ms to prepare the next event. This is the
  /// middle of that range.
  public static let preparation: Int64 = 1_150_000

  /// Creates parameters with these properties.
  public init(
    phy: PHY = .le1M, interval: Int64 = 30_000_000, eventLength: Int64? = nil,
    dataLength: Int = 251, isEncrypted: Bool = false, packetErrorRate: Double = 0,
    packetsPerEvent: Int? = nil, subrate: Int = 1, continuation: Int = 0,
    frameSpace: Int64 = usualFrameSpace, links: Int = 1, scheduling: Scheduling = .reserving
  ) {
    self.phy = phy
    self.interval = interval
    self.subrate = subrate
    self.continuation = continuation
    self.frameSpace = frameSpace
    self.eventLength = eventLength
    self.dataLength = dataLength
    self.isEncrypted = isEncrypted
    self.packetErrorRate = packetErrorRate
    self.packetsPerEvent = packetsPerEvent
    self.links = links
    self.scheduling = scheduling
  }

  /// The air time of a data packet.
  public func airTime(payload: Int) -> Int64 {
    phy.airTime(payload: payload, isEncrypted: isEncrypted)
  }

  /// The time of a data packet, the empty packet that acknowledges it, and the space after each.
  public func exchangeTime(payload: Int) -> Int64 {
    airTime(payload: payload) + airTime(payload: 0) + 2 * frameSpace
  }

  /// The same for packets of maximum length in both directions.
  public var longestPair: Int64 { 2 * (airTime(payload: dataLength) + frameSpace) }

  /// The first event that is used at or after this one, and in which it is the turn of this link. Events are counted
  /// from 0.
  ///
  /// - Parameter active: the last event in which either end has sent data.
  func event(from event: Int64, active: Int64) -> Int64 {
    func next(_ event: Int64, _ step: Int64) -> Int64 { (event + step - 1) / step * step }
    let turns = turns
    var found = event
    while true {
      if found > active + Int64(continuation) { found = next(found, Int64(subrate)) }
      let turn = next(found, turns)
      if turn == found { return found }
      found = turn
    }
  }

  /// Whether another exchange fits after this time of an event.
  func fits(payload: Int, after elapsed: Int64, packets: Int) -> Bool {
    if let packetsPerEvent, packets >= packetsPerEvent { return false }
    let wanted =
      switch scheduling {
      case .exact: exchangeTime(payload: payload)
      case .reserving: longestPair + Self.preparation
      }
    return elapsed + wanted <= share
  }

  /// The payload lengths of the packets for a PDU with its L2CAP header (4 octets, Vol 3, Part A,
  /// 3.1), split at the data length.
  public func packets(ofPDU length: Int) -> [Int] {
    var rest = length + 4
    var packets: [Int] = []
    while rest > 0 {
      packets.append(min(rest, dataLength))
      rest -= dataLength
    }
    return packets
  }

  /// The length field that precedes an SDU in its first K-frame. Vol 3, Part A, 3.4.3.
  public static let sduHeaderLength = 2
  /// The code, identifier, length, CID and credits of L2CAP_FLOW_CONTROL_CREDIT_IND. Vol 3, Part A,
  /// 4.24.
  public static let creditLength = 8

  /// The longest payload of a K-frame (MPS) that both ends of a channel choose here: it fills a data
  /// packet, or holds an SDU of the MTU if that is shorter, and is at least 64 octets.
  ///
  /// - Parameter mtu: the MTU of the channel.
  public func mps(ofMTU mtu: Int) -> Int {
    max(64, min(mtu + Self.sduHeaderLength, dataLength - 4))
  }

  /// The payload lengths of the packets for a PDU of an enhanced bearer: K-frames of at most `mps`
  /// octets, each with an L2CAP header. The first one also carries the length of the SDU.
  ///
  /// - Parameter mps: at least 64. Vol 3, Part A, 4.25.
  public func packets(ofSDU length: Int, mps: Int) -> [Int] {
    var rest = length + Self.sduHeaderLength
    var packets: [Int] = []
    repeat {
      packets += self.packets(ofPDU: min(rest, mps))
      rest -= mps
    } while rest > 0
    return packets
  }
}
