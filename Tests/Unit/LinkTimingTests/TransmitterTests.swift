import AttoLinkTiming
import TestSupport
import Testing

@Suite(.sideBySide) struct TransmitterTests {
  /// Vol 6, Part B, 2.1 and 2.2, in microseconds.
  @Test func airTimes() {
    func time(_ phy: PHY, _ payload: Int, _ isEncrypted: Bool = false) -> Int64 {
      phy.airTime(payload: payload, isEncrypted: isEncrypted) / 1000
    }
    #expect(PHY.allCases.map { time($0, 0) } == [80, 44, 462, 720])
    #expect(PHY.allCases.map { time($0, 0, true) } == [80, 44, 462, 720])
    #expect(PHY.allCases.map { time($0, 251, true) } == [2120, 1064, 4542, 17040])
    #expect(PHY.allCases.map { time($0, 27) } == [296, 152, 894, 2448])
  }

  @Test func waitsForTheAnchorAndGoesOnInTheEvent() {
    var transmitter = Transmitter(
      LinkParameters(phy: .le1M, interval: 10_000_000, dataLength: 27))
    transmitter.add(length: 23, at: 1)
    #expect(next(&transmitter) == 10_296_000)
    // The event is open until the empty reply has arrived.
    transmitter.add(length: 23, at: 10_500_000)
    #expect(next(&transmitter) == 10_972_000)
    // The event has ended, because nothing was left to send.
    transmitter.add(length: 1, at: 12_000_000)
    #expect(next(&transmitter) == 20_120_000)
    #expect(next(&transmitter) == nil)
    #expect(transmitter.count == 0)
  }

  /// Removes the first PDU and returns its arrival.
  private func next(_ transmitter: inout Transmitter) -> Int64? {
    defer { transmitter.removeFirst() }
    return transmitter.nextArrival()
  }

  @Test func limitsPacketsAndLengthOfAnEvent() {
    var parameters = LinkParameters(
      phy: .le1M, interval: 100_000_000, dataLength: 27, packetsPerEvent: 2, scheduling: .exact)
    #expect(arrivals(5, parameters).map { $0 / 100_000_000 } == [0, 0, 1, 1, 2])
    parameters.packetsPerEvent = nil
    parameters.eventLength = 3 * 676_000
    #expect(arrivals(7, parameters).map { $0 / 100_000_000 } == [0, 0, 0, 1, 1, 1, 2])
  }

  /// Vol 3, Part A, 3.4.3: each K-frame has a header of 4 octets, the first the length of the SDU.
  @Test func enhancedBearersTravelInKFrames() throws {
    let parameters = LinkParameters(dataLength: 27)
    #expect(parameters.packets(ofPDU: 23) == [27])
    #expect(parameters.packets(ofSDU: 23, mps: 64) == [27, 2])
    #expect(parameters.packets(ofSDU: 0, mps: 64) == [6])
    #expect(parameters.packets(ofSDU: 62, mps: 64) == [27, 27, 14])
    #expect(parameters.packets(ofSDU: 63, mps: 64) == [27, 27, 14, 5])
    #expect(LinkParameters(dataLength: 251).packets(ofSDU: 512, mps: 247) == [251, 251, 24])
    // The frames of one SDU take their time one after the other.
    var plain = Transmitter(parameters)
    var framed = Transmitter(parameters)
    plain.add(length: 23, at: 1)
    framed.add(length: 23, mps: 64, at: 1)
    let arrival = next(&plain)
    let time = try #require(arrival)
    let first = time - parameters.airTime(payload: 27)
    #expect(
      next(&framed) == first + parameters.exchangeTime(payload: 27)
        + parameters.airTime(payload: 2))
  }

  /// One event of four is used, and the two after each that carried data in either direction.
  @Test func subratedEvents() {
    var transmitter = Transmitter(
      LinkParameters(
        phy: .le1M, interval: 10_000_000, dataLength: 27, subrate: 4, continuation: 2))
    func event(at milliseconds: Int64) -> Int64? {
      transmitter.add(length: 23, at: milliseconds * 1_000_000)
      return next(&transmitter).map { $0 / 10_000_000 }
    }
    #expect(event(at: 5) == 4)
    #expect(event(at: 41) == 5)
    // The continuation is counted from the last event with data.
    #expect(event(at: 61) == 7)
    #expect(event(at: 91) == 12)
    transmitter.received(at: 160_500_000)
    #expect(event(at: 171) == 18)
    #expect(event(at: 301) == 32)
  }

  private func arrivals(_ count: Int, _ parameters: LinkParameters, seed: UInt64 = 1) -> [Int64] {
    var transmitter = Transmitter(parameters, seed: seed)
    for _ in 0..<count { transmitter.add(length: 23, at: 0) }
    return (0..<count).compactMap { _ in
      defer { transmitter.removeFirst() }
      return transmitter.nextArrival()
    }
  }

  @Test func errorsAreSeededAndCostWhatTheyShould() {
    var parameters = LinkParameters(phy: .le2M, interval: 50_000_000)
    let clean = parameters.throughput(of: .notify, value: 244)
    parameters.packetErrorRate = 0.2
    #expect(arrivals(500, parameters, seed: 7) == arrivals(500, parameters, seed: 7))
    #expect(arrivals(500, parameters, seed: 7) != arrivals(500, parameters, seed: 8))
    let lossy = parameters.throughput(of: .notify, value: 244, seed: 7)
    // A fifth is repeated. Two consecutive failures, 4 % of the pairs, also end events early.
    let ratio = lossy.perSecond / clean.perSecond
    #expect(ratio < 0.8 && ratio > 0.3, "\(ratio)")
    parameters.packetErrorRate = 0.9
    #expect(parameters.throughput(of: .read, value: 244).perSecond > 0)
  }

  @Test func enhancedBearersShareTheAir() {
    let parameters = LinkParameters(phy: .le2M, interval: 30_000_000)
    func rate(
      _ traffic: Throughput.Traffic, _ value: Int, _ bearers: Int, inFlight: Int? = nil
    ) -> Double {
      let enhanced = EnhancedTraffic(bearers: bearers, inFlight: inFlight ?? bearers, mtu: 247)
      return parameters.throughput(of: traffic, value: value, over: bearers > 0 ? enhanced : nil)
        .perSecond
    }
    // Requests and credits of all bearers fit one event: a request takes two intervals on each.
    #expect(abs(rate(.read, 20, 0) - 1000 / 60) < 0.01)
    for bearers in 1...5 {
      #expect(abs(rate(.read, 20, bearers) - Double(bearers) * 1000 / 60) < 0.1)
    }
    // The unenhanced bearer is used too, but nothing beyond it.
    #expect(abs(rate(.read, 20, 2, inFlight: 3) - 50) < 0.1)
    #expect(rate(.read, 20, 2, inFlight: 9) == rate(.read, 20, 2, inFlight: 3))
    // With the length of the SDU, a PDU of the MTU is too long for one data packet.
    #expect(rate(.notify, 244, 1) < 0.8 * rate(.notify, 244, 0))
    #expect(rate(.notify, 242, 1) > 0.95 * rate(.notify, 244, 0))
  }

  @Test func memoryIsGivenBack() {
    var transmitter = Transmitter(LinkParameters())
    for number in 0..<100_000 {
      transmitter.add(length: 20, at: Int64(number) * 1_000_000)
      if transmitter.count > 3 { transmitter.removeFirst() }
    }
    #expect(transmitter.count == 3)
  }

  @Test(arguments: [
    ("phy=3M", "1M, 2M, S2 or S8"), ("interval=300us", "375us to 4s in steps of 125us"),
    ("interval=8.1ms", "375us to 4s in steps of 125us"), ("interval=5s", "375us to 4s"),
    ("interval=", "375us"), ("interval=-15ms", "375us"), ("interval=nan", "375us"),
    ("dle=252", "27 to 251"), ("dle=26", "27 to 251"), ("dle=x", "27 to 251"),
    ("per=1", "0 to 0.9"), ("per=-0.1", "0 to 0.9"), ("per=nan", "0 to 0.9"),
    ("packets=0", "1 to 10000"), ("encrypted=maybe", "true or false"),
    ("phy=S8&interval=7.5ms", "17.875ms to 4s"), ("event-length=1ms", "2.468ms"),
    ("event-length=31ms", "30ms (the interval)"), ("subrate=0", "1 to 500"),
    ("subrate=501", "1 to 500"), ("subrate=4&continuation=4", "0 to 3"),
    ("continuation=1", "0 to 0"), ("continuation=-1", "0 to 0"),
    ("frame-space=11ms", "0us to 10ms"), ("links=0", "1 to 255"), ("links=256", "1 to 255"),
    ("phy=2M&interval=750us", "or a smaller dle"), ("colour=red", "one of phy"), ("", "one of phy"),
    ("phy=1M&phy=2M", "only one value"), ("seed=-1", "a number from 0"),
  ])
  func nonsense(_ text: String, _ expected: String) {
    #expect {
      _ = try LinkParameters.reading(text)
    } throws: { error in
      "\(error)".contains(expected)
    }
  }

  @Test(arguments: [
    "phy=2M&interval=15ms&dle=251", "phy=S8&interval=30ms&dle=251&per=0.01",
    "phy=1M&interval=7.5ms&dle=27&event-length=5ms&encrypted=true&packets=3",
    "phy=2M&interval=0.375ms&dle=27&subrate=500&continuation=499&frame-space=0.052ms",
    "phy=1M&interval=50ms&dle=251&links=20",
  ])
  func readsWhatItWrites(_ text: String) throws {
    let parameters = try LinkParameters.reading(text).parameters
    #expect(parameters.description == text)
    #expect(try LinkParameters.reading("interval=0.4s&seed=3").seed == 3)
    #expect(try LinkParameters.reading("interval=7500us").parameters.interval == 7_500_000)
  }
}
