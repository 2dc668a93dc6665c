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
  /// It is computed by sending thousands of values over a ``Transmitter``, with seeded errors.
  ///
  /// - Parameter value: the length of each value in octets.
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
    // All events are alike: time is measured from the first anchor to the anchor after the last
    // full event.
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
      back.received(at: time)
      back.add(length: response, at: time)
      time = back.nextArrival() ?? time
      back.removeFirst()
      there.received(at: time)
    }
    // The next request would be sent in the next event that is used.
    let end = event(from: time / interval + 1, active: time / interval) * interval
    return throughput(count: count, in: end, value: value, link: request + response + 8)
  }

  private func throughput(count: Int, in time: Int64, value: Int, link: Int) -> Throughput {
    let rate = time > 0 ? Double(count) * 1e9 / Double(time) : 0
    return Throughput(
      perSecond: rate, bytesPerSecond: rate * Double(value),
      linkBytesPerSecond: rate * Double(link))
  }
}
