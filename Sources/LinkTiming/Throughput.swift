/// What a link carries of one kind of traffic in a steady state.
public struct Throughput: Sendable, Equatable {
  /// PDUs with a value, or procedures, in a second.
  public let perSecond: Double
  /// Octets of the values in a second.
  public let bytesPerSecond: Double
  /// Octets of the data packets' payloads in a second, repetitions not counted; bits of that are
  /// what is often given as a link's rate.
  public let linkBytesPerSecond: Double

  /// Kinds of traffic.
  public enum Traffic: String, Sendable, CaseIterable {
    /// Handle Value Notifications, one after another.
    case notify
    /// Write Commands, one after another.
    case writeCommand = "write-command"
    /// Write Requests, each after the response to the one before.
    case write
    /// Read Requests likewise.
    case read
  }
}

extension LinkParameters {
  /// Legal ATT_MTUs on LE's fixed channel as Atto offers them: 23, to 517 for the longest value in
  /// one PDU.
  public static let mtuRange = 23...517
  /// PDUs that are followed to find the steady state; enough for 0.5 % with errors.
  private static let sampleCount = 20_000

  /// The longest value that one PDU carries: ATT_MTU - 3 but for reads, ATT_MTU - 1; 512 at most.
  public static func longestValue(_ traffic: Throughput.Traffic, mtu: Int) -> Int {
    min(traffic == .read ? mtu - 1 : mtu - 3, 512)
  }

  /// What the link carries if its ends always have something to send and take no time for it.
  ///
  /// Worked out by sending some thousands of values over a ``Transmitter``; with errors, over
  /// seeded ones.
  ///
  /// - Parameter value: octets of each value.
  public func throughput(
    of traffic: Throughput.Traffic, value: Int, seed: UInt64 = 1
  ) -> Throughput {
    switch traffic {
    case .notify, .writeCommand: stream(value: value, seed)
    case .write: exchanges(request: value + 3, response: 1, value: value, seed)
    case .read: exchanges(request: 3, response: value + 1, value: value, seed)
    }
  }

  private func stream(value: Int, _ seed: UInt64) -> Throughput {
    var transmitter = Transmitter(self, seed: seed)
    // The first event is no different from others: the clock begins at its anchor, and ends at the
    // anchor after the last event that is full.
    var arrivals = 0
    var lastWhole = (time: Int64(0), arrivals: 0)
    var event: Int64 = 0
    for _ in 0..<Self.sampleCount { transmitter.add(length: value + 3, at: 0) }
    while let time = transmitter.nextArrival() {
      if time / interval != event {
        event = time / interval
        lastWhole = (event * interval, arrivals)
      }
      arrivals += 1
      transmitter.removeFirst()
    }
    return throughput(
      count: lastWhole.arrivals, in: lastWhole.time, value: value, link: value + 3 + 4)
  }

  private func exchanges(
    request: Int, response: Int, value: Int, _ seed: UInt64
  ) -> Throughput {
    var there = Transmitter(self, seed: seed)
    var back = Transmitter(self, seed: ~seed)
    var time: Int64 = 0
    let count = Self.sampleCount / 10
    for _ in 0..<count {
      there.add(length: request, at: time)
      time = there.nextArrival() ?? time
      there.removeFirst()
      back.add(length: response, at: time)
      time = back.nextArrival() ?? time
      back.removeFirst()
    }
    // The next request would go at the next anchor.
    let end = (time / interval + 1) * interval
    return throughput(count: count, in: end, value: value, link: request + response + 8)
  }

  private func throughput(count: Int, in time: Int64, value: Int, link: Int) -> Throughput {
    let rate = time > 0 ? Double(count) * 1e9 / Double(time) : 0
    return Throughput(
      perSecond: rate, bytesPerSecond: rate * Double(value),
      linkBytesPerSecond: rate * Double(link))
  }
}
