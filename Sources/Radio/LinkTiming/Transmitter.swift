import AttoATT

/// One direction of an LE link: computes when each PDU arrives at the other end.
///
/// # Theory
/// Connection events start at multiples of the interval (anchors). An event continues while there is
/// something to send (the MD bit) and there is room. Each packet is answered by an empty one. A PDU
/// that is added during an event is sent in it; a later one waits for the next anchor. So a response
/// is never sent in the event of its request, and a request with its response takes two intervals.
///
/// On a subrated link only one of ``LinkParameters/subrate`` events is used, and after an event that
/// carried data, in either direction, the next ``LinkParameters/continuation`` ones.
///
///     idle --PDU: wait for the anchor--> event --another fits--> event
///       ^                                  |--no room | two failures--> next anchor
///       '---- nothing more to send --------'
///
/// An exchange that fails, because either packet was lost, takes the same time and is repeated. Two
/// consecutive failures end the event (Vol 6, Part B, 4.5.6). Failures come from a seeded
/// generator: the same seed fails the same exchanges.
///
/// The model assumes that the other direction sends only empty packets. If both are busy at once,
/// they carry more here than on a real link.
///
/// Times are nanoseconds on a clock whose zero is an anchor and that both ends of a link share.
public struct Transmitter: Sendable {
  /// The parameters of the link.
  public let parameters: LinkParameters
  private var waiting: [Entry] = []
  private var first = 0
  /// When the last exchange ended. A PDU that is added later cannot continue its event.
  private var free: Int64 = .min
  private var eventStart: Int64 = 0
  /// The last event in which either end has sent data.
  private var active: Int64 = -.max / 2
  private var packets = 0
  private var failures = 0
  private var random: SplitMix64
  /// When the first PDU of the queue arrives, once it was computed.
  private var arrival: Int64?

  private struct Entry {
    var length: Int
    /// The longest payload of a K-frame; nil for a PDU that is no SDU.
    var mps: Int?
    var time: Int64
  }

  /// - Parameter seed: the seed of the failures.
  public init(_ parameters: LinkParameters, seed: UInt64 = 1) {
    self.parameters = parameters
    random = SplitMix64(seed: seed)
  }

  /// The number of PDUs that have not been removed.
  public var count: Int { waiting.count - first }

  /// Adds a PDU of this length in octets. Times must not decrease.
  ///
  /// - Parameter mps: for a PDU of an enhanced bearer, the longest payload of a K-frame.
  public mutating func add(length: Int, mps: Int? = nil, at time: Int64) {
    waiting.append(Entry(length: length, mps: mps, time: time))
  }

  /// Tells that a PDU of the other direction has arrived, which keeps a subrated link awake.
  public mutating func received(at time: Int64) {
    active = max(active, time / parameters.interval)
  }

  /// When the first PDU arrives; nil if there is none.
  public mutating func nextArrival() -> Int64? {
    if let arrival { return arrival }
    guard first < waiting.count else { return nil }
    let entry = waiting[first]
    var time = entry.time
    let packets =
      if let mps = entry.mps {
        parameters.packets(ofSDU: entry.length, mps: mps)
      } else {
        parameters.packets(ofPDU: entry.length)
      }
    for payload in packets {
      time = carry(payload, readyAt: time)
    }
    arrival = time
    return time
  }

  /// Removes the first PDU, which has arrived.
  public mutating func removeFirst() {
    guard nextArrival() != nil else { return }
    arrival = nil
    first += 1
    guard first >= 64 || first == waiting.count else { return }
    waiting.removeFirst(first)
    first = 0
  }

  /// Sends a packet until it is received. Returns when that is.
  private mutating func carry(_ payload: Int, readyAt time: Int64) -> Int64 {
    while true {
      let start = begin(payload, readyAt: time)
      free = start + parameters.exchangeTime(payload: payload)
      packets += 1
      guard fails() else {
        failures = 0
        return start + parameters.airTime(payload: payload)
      }
      failures += 1
    }
  }

  /// Returns when the next exchange starts.
  private mutating func begin(_ payload: Int, readyAt time: Int64) -> Int64 {
    if time <= free, failures < 2,
      parameters.fits(payload: payload, after: free - eventStart, packets: packets)
    {
      return free
    }
    let earliest = max(time, free)
    let interval = parameters.interval
    let (whole, rest) = earliest.quotientAndRemainder(dividingBy: interval)
    active = parameters.event(from: rest > 0 ? whole + 1 : whole, active: active)
    eventStart = active * interval
    packets = 0
    failures = 0
    return eventStart
  }

  private mutating func fails() -> Bool {
    parameters.packetErrorRate > 0 && random.chance(parameters.packetErrorRate)
  }
}
