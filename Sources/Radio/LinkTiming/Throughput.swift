/// The steady throughput of a link for one kind of traffic.
public struct Throughput: Sendable, Equatable {
  /// Values per second.
  public let perSecond: Double
  /// Octets of values per second.
  public let bytesPerSecond: Double
  /// Octets of packet payloads per second, without repetitions. The rate of a link is often given
  /// as the bits of this.
  public let linkBytesPerSecond: Double

  /// Kinds of traffic.
  public enum Traffic: String, Sendable, CaseIterable {
    /// Consecutive Handle Value Notifications.
    case notify
    /// Consecutive Write Commands.
    case writeCommand = "write-command"
    /// Write Requests, each after the previous response.
    case write
    /// Read Requests, each after the previous response.
    case read
  }
}

/// Enhanced bearers that carry traffic, for
/// ``LinkParameters/throughput(of:value:over:seed:)``. Vol 3, Part G, 5.3.
public struct EnhancedTraffic: Sendable, Hashable {
  /// The number of enhanced bearers: at least 1.
  public var bearers: Int
  /// The requests that the client has at a time: at least 1.
  public var inFlight: Int
  /// The MTU of each enhanced bearer in octets: at least 64.
  public var mtu: Int

  /// Creates traffic with these properties.
  public init(bearers: Int, inFlight: Int, mtu: Int) {
    self.bearers = bearers
    self.inFlight = inFlight
    self.mtu = mtu
  }

  /// The requests that are under way at a time: one on each enhanced bearer, then one on the unenhanced
  /// one. Others wait.
  public var underWay: Int { min(inFlight, bearers + 1) }
}

extension LinkParameters {
  /// The legal values of ATT_MTU: 23 to 517, with which a PDU carries the longest value.
  public static let mtuRange = 23...517
  /// The number of PDUs to simulate, which gives an accuracy of 0.5 % with errors.
  private static let sampleCount = 20_000

  /// The longest value in one PDU: ATT_MTU - 1 octets for reads, ATT_MTU - 3 otherwise, at most
  /// 512.
  public static func longestValue(_ traffic: Throughput.Traffic, mtu: Int) -> Int {
    min(traffic == .read ? mtu - 1 : mtu - 3, 512)
  }

  /// The throughput if both ends always have something to send and need no time for it.
  ///
  /// It is computed by sending thousands of values over a ``Transmitter``, with seeded errors. On
  /// enhanced bearers a PDU travels in K-frames, and its receiver returns credits for it in a packet,
  /// before anything else. No sender waits for credits: Linux grants as many as its receive buffer
  /// holds. A stream of values uses one bearer.
  ///
  /// - Parameters:
  ///   - value: the length of each value in octets.
  ///   - enhanced: the bearers; nil for the unenhanced one.
  public func throughput(
    of traffic: Throughput.Traffic, value: Int, over enhanced: EnhancedTraffic? = nil,
    seed: UInt64 = 1
  ) -> Throughput {
    switch traffic {
    case .notify, .writeCommand: stream(value: value, enhanced, seed)
    case .write: exchanges(request: value + 3, response: 1, value: value, enhanced, seed)
    case .read: exchanges(request: 3, response: value + 1, value: value, enhanced, seed)
    }
  }

  private func stream(value: Int, _ enhanced: EnhancedTraffic?, _ seed: UInt64) -> Throughput {
    var transmitter = Transmitter(self, seed: seed)
    // All events are alike: time is measured from the first anchor to the anchor after the last
    // full event.
    var arrivals = 0
    var lastWhole = (time: Int64(0), arrivals: 0)
    var event: Int64 = 0
    let mps = enhanced.map { self.mps(ofMTU: $0.mtu) }
    for _ in 0..<Self.sampleCount { transmitter.add(length: value + 3, mps: mps, at: 0) }
    while let time = transmitter.nextArrival() {
      if time / interval != event {
        event = time / interval
        lastWhole = (event * interval, arrivals)
      }
      arrivals += 1
      transmitter.removeFirst()
    }
    return throughput(
      count: lastWhole.arrivals, in: lastWhole.time, value: value, link: octets(value + 3, mps))
  }

  /// The octets of the packets for a PDU.
  private func octets(_ length: Int, _ mps: Int?) -> Int {
    guard let mps else { return length + 4 }
    return packets(ofSDU: length, mps: mps).reduce(0, +)
  }

  private func exchanges(
    request: Int, response: Int, value: Int, _ enhanced: EnhancedTraffic?, _ seed: UInt64
  ) -> Throughput {
    var there = Direction(self, seed: seed)
    var back = Direction(self, seed: ~seed)
    var time: Int64 = 0
    var done = 0
    let count = Self.sampleCount / 10
    let mps = enhanced.map { self.mps(ofMTU: $0.mtu) }
    for number in 0..<(enhanced?.underWay ?? 1) {
      let isEnhanced = number < enhanced?.bearers ?? 0
      there.add(request, .exchange(mps: isEnhanced ? mps : nil), at: 0)
    }
    while done < count {
      let isRequest = there.nextArrival <= back.nextArrival
      let (arrival, sent) = isRequest ? there.removeFirst() : back.removeFirst()
      time = arrival
      if isRequest { back.received(at: time) } else { there.received(at: time) }
      guard case .exchange(let mps) = sent else { continue }
      if isRequest {
        if mps != nil { back.add(Self.creditLength, .credits, at: time) }
        back.add(response, sent, at: time)
      } else {
        done += 1
        if mps != nil { there.add(Self.creditLength, .credits, at: time) }
        there.add(request, sent, at: time)
      }
    }
    // The next request would be sent in the next event that is used.
    return throughput(
      count: count, in: nextAnchor(after: time), value: value,
      link: octets(request, mps) + octets(response, mps))
  }

  /// The throughput of SDUs on an L2CAP channel of which each K-frame needs a credit. Vol 3, Part A, 10.1.
  ///
  /// The receiver returns a credit, in a packet of its own and before anything else, when a frame has arrived. So
  /// frames and credits take turns: with one credit, as in a stack with one buffer, each frame waits for the credit
  /// of the frame before.
  ///
  /// - Parameters:
  ///   - sdu: the length of each SDU in octets: one K-frame.
  ///   - credits: what the receiver grants at first: at least 1.
  public func channelThroughput(sdu: Int, credits: Int, seed: UInt64 = 1) -> Throughput {
    var there = Direction(self, seed: seed)
    var back = Direction(self, seed: ~seed)
    let (mps, count) = (sdu + Self.sduHeaderLength, Self.sampleCount / 10)
    var time: Int64 = 0
    var done = 0
    for _ in 0..<min(credits, count) { there.add(sdu, .exchange(mps: mps), at: 0) }
    while done < count {
      if there.nextArrival <= back.nextArrival {
        time = there.removeFirst().time
        done += 1
        back.received(at: time)
        back.add(Self.creditLength, .credits, at: time)
      } else {
        let arrival = back.removeFirst().time
        there.received(at: arrival)
        there.add(sdu, .exchange(mps: mps), at: arrival)
      }
    }
    return throughput(
      count: count, in: nextAnchor(after: time), value: sdu, link: octets(sdu, mps))
  }

  /// When the next event begins that is used.
  private func nextAnchor(after time: Int64) -> Int64 {
    event(from: time / interval + 1, active: time / interval) * interval
  }

  private enum Sent {
    /// A request or its response; without an MPS on the unenhanced bearer.
    case exchange(mps: Int?)
    case credits
  }

  /// One direction, with what is under way.
  private struct Direction {
    private var transmitter: Transmitter
    private var sent: [Sent] = []

    init(_ parameters: LinkParameters, seed: UInt64) {
      transmitter = Transmitter(parameters, seed: seed)
    }

    var nextArrival: Int64 { mutating get { transmitter.nextArrival() ?? .max } }

    mutating func add(_ length: Int, _ pdu: Sent, at time: Int64) {
      if case .exchange(let mps) = pdu {
        transmitter.add(length: length, mps: mps, at: time)
      } else {
        transmitter.add(length: length, at: time)
      }
      sent.append(pdu)
    }

    mutating func received(at time: Int64) { transmitter.received(at: time) }

    mutating func removeFirst() -> (time: Int64, sent: Sent) {
      let time = nextArrival
      transmitter.removeFirst()
      return (time, sent.removeFirst())
    }
  }

  private func throughput(count: Int, in time: Int64, value: Int, link: Int) -> Throughput {
    let rate = time > 0 ? Double(count) * 1e9 / Double(time) : 0
    return Throughput(
      perSecond: rate, bytesPerSecond: rate * Double(value),
      linkBytesPerSecond: rate * Double(link))
  }
}
