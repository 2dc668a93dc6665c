import AttoLinkTiming
import TestSupport
import Testing

/// Links that share a radio, compared with published rules and with events that are counted one by one.
///
/// Sources:
/// - Nordic Semiconductor, S140 and S113 SoftDevice Specifications, "Suggested intervals and windows".
/// - apache/mynewt-nimble#818, throughput of an L2CAP channel by the number of ACL buffers.
@Suite(.sideBySide) struct SharingTests {
  private func shared(
    _ links: Int, interval: Double, event: Double? = nil, dle: Int = 27, _ phy: PHY = .le1M
  ) throws -> LinkParameters {
    let parameters = LinkParameters(
      phy: phy, interval: Int64(interval * 1e6), eventLength: event.map { Int64($0 * 1e6) },
      dataLength: dle, links: links)
    try parameters.check()
    return parameters
  }

  /// The packets of an event: full values that arrive before the next one.
  private func packets(_ parameters: LinkParameters) -> Int {
    var transmitter = Transmitter(parameters)
    for _ in 0..<100 { transmitter.add(length: parameters.dataLength - 4, at: 0) }
    var count = 0
    while let time = transmitter.nextArrival(), time < parameters.interval {
      count += 1
      transmitter.removeFirst()
    }
    return count
  }

  /// "20 link timing-events can complete in 50 ms for connections with a 2.5 ms event length", and "for eight
  /// connections with an event length of 2.5 ms, the lowest recommended connection interval is 20 ms".
  @Test(arguments: [(20, 50.0), (8, 20)])
  func intervalsOfNordic(links: Int, lowest: Double) throws {
    #expect(try shared(links, interval: lowest, event: 2.5).turns == 1)
    #expect(try shared(links, interval: lowest - 1.25, event: 2.5).turns == 2)
    // Without a stated event, the share is the same.
    #expect(try shared(links, interval: lowest).share == 2_500_000)
    #expect(try shared(links, interval: lowest).turns == 1)
  }

  /// "With an event length of 3.75 ms, it is possible to send three full-sized packet pairs on LE 1M PHY", of 27 octets;
  /// with 251 octets as many want 15 ms. 2.5 ms is the least event on LE 1M, and 1.25 ms on LE 2M: one pair.
  @Test func eventsOfNordic() throws {
    #expect(packets(try shared(1, interval: 30, event: 3.75)) == 3)
    #expect(packets(try shared(1, interval: 30, event: 15, dle: 251)) >= 3)
    #expect(packets(try shared(12, interval: 30)) == 1)
    #expect(packets(try shared(24, interval: 30, .le2M)) == 1)
    #expect(try shared(24, interval: 30, .le2M).turns == 1)
  }

  /// 2, 4, 6 and 8 kb/s with 1 to 4 buffers that are only returned after an event. With 5 the measured rate becomes 65
  /// kb/s, since then there is always one left to continue the event: no limit.
  @Test func buffersOfNimBLE() throws {
    func rate(_ buffers: Int?) -> Double {
      LinkParameters(interval: 75_000_000, dataLength: 251, packetsPerEvent: buffers)
        .throughput(of: .notify, value: 20).bytesPerSecond
    }
    for (buffers, published) in zip(1...4, [2.0, 4, 6, 8]) {
      #expect(abs(rate(buffers) / rate(1) / (published / 2) - 1) < 0.05, "\(buffers)")
    }
    #expect(rate(nil) / rate(1) > 65.0 / 2)
  }

  /// With one credit, a frame goes in every other event: its credit comes back in the one between. More credits carry
  /// as many frames, until the link is full.
  ///
  /// zephyrproject-rtos/zephyr#69975 has 30 kb/s with one credit, and 250 kb/s before. Its interval is not stated; the
  /// default of Zephyr's central is 30 to 50 ms.
  @Test func credits() throws {
    let parameters = try shared(1, interval: 30, dle: 251)
    func kilobits(_ credits: Int) -> Double {
      parameters.channelThroughput(sdu: 245, credits: credits).bytesPerSecond * 8 / 1000
    }
    let single = 245 * 8 / 60.0
    for credits in 1...8 {
      #expect(abs(kilobits(credits) / (single * Double(credits)) - 1) < 0.01, "\(credits)")
    }
    #expect(abs(kilobits(1) / 30 - 1) < 0.1)
    let full = parameters.throughput(of: .notify, value: 244).bytesPerSecond * 8 / 1000
    #expect(abs(kilobits(100) / full - 1) < 0.06, "\(kilobits(100)) of \(full)")
    #expect(abs(kilobits(100) / kilobits(1000) - 1) < 0.01)
  }

  /// Whatever their number, the events of all links have room on the radio, and no link waits longer than it must.
  @Test(arguments: PHY.allCases)
  func allLinksHaveRoom(_ phy: PHY) throws {
    for links in [1, 2, 3, 5, 7, 8, 13, 20, 64, 255] {
      for interval in [20.0, 30, 50, 100, 4000] {
        for dle in [27, 251] {
          let parameters = LinkParameters(
            phy: phy, interval: Int64(interval * 1e6), dataLength: dle, links: links)
          guard (try? parameters.check()) != nil else { continue }
          let (share, turns) = (parameters.share, parameters.turns)
          let together = (Int64(links) + turns - 1) / turns
          #expect(together * share <= parameters.interval, "\(parameters)")
          #expect(share >= min(parameters.longestPair, parameters.interval), "\(parameters)")
          // With one turn less, they would not fit.
          let fewer = turns == 1 ? Int64.max : (Int64(links) + turns - 2) / (turns - 1)
          #expect(turns == 1 || fewer * share > parameters.interval, "\(parameters)")
        }
      }
    }
  }

  /// All links together carry no more than one that has the radio for itself, and at least as much as one packet for
  /// each turn.
  @Test func linksTogether() throws {
    for links in [2, 4, 8, 20, 40] {
      for traffic in Throughput.Traffic.allCases {
        let one = try shared(1, interval: 50, dle: 251).throughput(of: traffic, value: 20)
        let parameters = try shared(links, interval: 50, dle: 251)
        let each = parameters.throughput(of: traffic, value: 20)
        #expect(each.perSecond <= one.perSecond)
        // Requests leave the radio idle, which other links use.
        if traffic == .notify || traffic == .writeCommand {
          #expect(each.perSecond * Double(links) <= one.perSecond * 1.01)
        }
        let turn = Double(parameters.turns * parameters.interval) / 1e9
        #expect(each.perSecond >= 0.49 / turn)
      }
    }
  }

  /// It is the turn of a link in every third event; a subrated one also waits for its own.
  @Test func eventsOfALink() throws {
    func events(_ parameters: LinkParameters) -> [Int64] {
      var transmitter = Transmitter(parameters)
      return stride(from: Int64(1), to: 200, by: 7).compactMap { time in
        transmitter.add(length: 23, at: time * 10_000_000)
        defer { transmitter.removeFirst() }
        return transmitter.nextArrival().map { $0 / parameters.interval }
      }
    }
    var parameters = LinkParameters(interval: 10_000_000, dataLength: 27, links: 25)
    #expect(parameters.turns == 3)
    #expect(events(parameters).allSatisfy { $0 % 3 == 0 })
    parameters.subrate = 4
    #expect(events(parameters).allSatisfy { $0 % 12 == 0 })
  }

  /// Events of two clocks, one by one: how long no two overlap, and how long each does.
  @Test(arguments: [(7.5, 100.0), (75, 250), (30, 20)])
  func overlaps(interval: Double, drift: Double) throws {
    let parameters = LinkParameters(interval: Int64(interval * 1e6), dataLength: 27)
    let event = Double(parameters.longestPair) / 1e6
    let other = interval * (1 + drift / 1e6)
    let expected = parameters.overlap(drift: drift)
    // The second link's event, in the interval of the first.
    var (began, periods, durations) = ([Double](), [Double](), [Double]())
    var wasOverlapping = true
    var count = 0.0
    while periods.count < 2 {
      let phase = (count * other).truncatingRemainder(dividingBy: interval)
      let isOverlapping = min(phase, interval - phase) < event
      if isOverlapping, !wasOverlapping {
        if let last = began.last { periods.append(count * interval - last) }
        began.append(count * interval)
      } else if !isOverlapping, wasOverlapping, let last = began.last {
        durations.append(count * interval - last)
      }
      wasOverlapping = isOverlapping
      count += 1
    }
    for period in periods { #expect(abs(period * 1e6 / Double(expected.period) - 1) < 0.01) }
    for time in durations { #expect(abs(time * 1e6 / Double(expected.duration) - 1) < 0.01) }
    #expect(!durations.isEmpty)
  }
}
