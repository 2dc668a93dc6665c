/// One direction of an LE link: when each PDU that is given to it has arrived at the other end.
///
/// # Theory
/// Connection events begin at the multiples of the interval (anchors). An event goes on for as
/// long as there is something to send (the MD bit) and there is room; each packet is answered by
/// an empty one. A PDU that comes while an event is open follows in it; one that comes later waits
/// for the next anchor. So a response never goes in the event of its request, whose sender had
/// nothing more to say, and a request with its response takes two intervals.
///
///     idle --PDU: wait for the anchor--> event --another fits--> event
///       ^                                  |--no room | two failures--> next anchor
///       '---- nothing more to send --------'
///
/// An exchange that fails (either packet was lost) takes its time all the same, and is repeated;
/// after two failures in a row the event is over (Vol 6, Part B, 4.5.6). Failures come from a
/// seeded generator: the same seed fails the same exchanges.
///
/// The other direction is taken to send empty packets only. Where both are busy at once, together
/// they carry more here than on the air.
///
/// Time is nanoseconds on any clock whose zero is an anchor; both ends of a link use the same.
public struct Transmitter: Sendable {
  /// What the link is like.
  public let parameters: LinkParameters
  private var waiting: [Entry] = []
  private var first = 0
  /// When the last exchange ended, and with it the chance to go on in its event.
  private var free: Int64 = .min
  private var eventStart: Int64 = 0
  private var packets = 0
  private var failures = 0
  private var state: UInt64
  /// When the first of the queue arrives, once that was worked out.
  private var arrival: Int64?
  /// Data packets that were sent, repetitions included.
  public private(set) var sentPackets: UInt64 = 0
  /// Those among them that had to be repeated.
  public private(set) var lostPackets: UInt64 = 0

  private struct Entry {
    var length: Int
    var time: Int64
  }

  /// - Parameter seed: for the failures.
  public init(_ parameters: LinkParameters, seed: UInt64 = 1) {
    self.parameters = parameters
    state = seed
  }

  /// PDUs that have not arrived.
  public var count: Int { waiting.count - first }

  /// Takes a PDU of so many octets. Times must not go back.
  public mutating func add(length: Int, at time: Int64) {
    waiting.append(Entry(length: length, time: time))
  }

  /// When the PDU that was added first arrives; nil if there is none.
  public mutating func nextArrival() -> Int64? {
    if let arrival { return arrival }
    guard first < waiting.count else { return nil }
    let entry = waiting[first]
    var time = entry.time
    for payload in parameters.packets(ofPDU: entry.length) {
      time = carry(payload, readyAt: time)
    }
    arrival = time
    return time
  }

  /// Forgets the PDU that was added first: it has arrived.
  public mutating func removeFirst() {
    guard nextArrival() != nil else { return }
    arrival = nil
    first += 1
    guard first >= 64 || first == waiting.count else { return }
    waiting.removeFirst(first)
    first = 0
  }

  /// Sends a packet until it is received; when that is.
  private mutating func carry(_ payload: Int, readyAt time: Int64) -> Int64 {
    while true {
      let start = begin(payload, readyAt: time)
      free = start + parameters.exchangeTime(payload: payload)
      packets += 1
      sentPackets += 1
      guard fails() else {
        failures = 0
        return start + parameters.airTime(payload: payload)
      }
      failures += 1
      lostPackets += 1
    }
  }

  /// When the next exchange begins.
  private mutating func begin(_ payload: Int, readyAt time: Int64) -> Int64 {
    if time <= free, failures < 2,
      parameters.fits(payload: payload, after: free - eventStart, packets: packets)
    {
      return free
    }
    let earliest = max(time, free)
    let interval = parameters.interval
    let (whole, rest) = earliest.quotientAndRemainder(dividingBy: interval)
    eventStart = (rest > 0 ? whole + 1 : whole) * interval
    packets = 0
    failures = 0
    return eventStart
  }

  private mutating func fails() -> Bool {
    guard parameters.packetErrorRate > 0 else { return false }
    // SplitMix64: passes the tests that matter here and keeps eight octets of state.
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    mixed ^= mixed >> 31
    return Double(mixed >> 11) * 0x1p-53 < parameters.packetErrorRate
  }
}
