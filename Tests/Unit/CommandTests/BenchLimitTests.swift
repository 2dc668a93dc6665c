import AttoFormats
import AttoLinkTiming
import AttoLinks
import AttoRadio
import TestSupport
import Testing

@testable import AttoBench

@Suite(.oneByOne) struct BenchLimitTests {
  private typealias Figures = BenchLimit.Figures

  /// The limit of a test that reaches this share of what a link carries.
  private func limit(
    _ test: BenchTest, _ link: LinkParameters, size: Int, mtu: Int, share: Double = 1,
    requests: Double = 1, peerCPU: Double? = 0.1
  ) -> BenchLimit {
    let workload = test.workload
    let rate = link.throughput(of: workload.traffic, value: min(size, mtu - 1)).perSecond
    let figures = Figures(
      workload: workload, rate: rate * share / requests, size: Double(size), mtu: mtu,
      requests: requests, cpu: 0.1, peerCPU: peerCPU, link: link)
    return BenchLimit(figures, LinkShare(figures))
  }

  private func link(_ phy: PHY, _ milliseconds: Int64, _ dataLength: Int) -> LinkParameters {
    LinkParameters(phy: phy, interval: milliseconds * 1_000_000, dataLength: dataLength)
  }

  @Test("A busy link is limited by the parameter that would add most")
  func links() {
    #expect(limit(.read, link(.le2M, 15, 251), size: 20, mtu: 247).kind == .interval)
    #expect(limit(.write, link(.le1M, 50, 27), size: 20, mtu: 23, share: 0.9).kind == .interval)
    #expect(limit(.notify, link(.le1M, 30, 27), size: 244, mtu: 247).kind == .dataLength)
    #expect(limit(.notify, link(.le1M, 50, 251), size: 244, mtu: 247).kind == .phy)
    #expect(limit(.notify, link(.le2M, 50, 251), size: 20, mtu: 23).kind == .mtu)
    #expect(limit(.writeCommand, link(.le2M, 50, 251), size: 20, mtu: 247).kind == .valueLength)
    #expect(limit(.longRead, link(.le2M, 15, 251), size: 512, mtu: 23, requests: 24).kind == .mtu)
    var other = link(.le2M, 30, 251)
    other.packetsPerEvent = 2
    #expect(limit(.notify, other, size: 244, mtu: 247).kind == .eventLength)
    other.packetsPerEvent = nil
    other.packetErrorRate = 0.5
    #expect(limit(.notify, other, size: 244, mtu: 247).kind == .packetErrors)
    other.packetErrorRate = 0
    (other.subrate, other.continuation) = (10, 0)
    #expect(limit(.read, other, size: 20, mtu: 247).kind == .subrate)
    (other.subrate, other.links) = (1, 40)
    #expect(limit(.notify, other, size: 244, mtu: 247).kind == .links)
    // Nothing to improve.
    let best = limit(.notify, link(.le2M, 4000, 251), size: 244, mtu: 247)
    #expect(best.kind == .phy && best.text.contains("no other parameter"))
  }

  @Test("The text has the figures that the limit follows from")
  func texts() {
    #expect(
      limit(.read, link(.le2M, 15, 251), size: 20, mtu: 247).text
        == "the connection interval: this run is 100.0 % of the link's limit; an interval of 7.5 ms"
        + " instead of 15 ms would carry 2.00 times as much")
    // Controllers reach 90 % of the limit here: the link is busy all the same.
    #expect(
      limit(.notify, link(.le2M, 15, 251), size: 244, mtu: 247).text.contains(
        "this run is 90.0 % of the link's limit; "))
    #expect(
      limit(.read, link(.le2M, 15, 251), size: 20, mtu: 247, share: 0.25).text
        == "the peer's answers: they come after 120.00 ms, of which the link takes 30.00 ms; this end"
        + " worked for 10 % of the time")
  }

  @Test("An idle link is limited by its ends")
  func ends() {
    func kind(_ change: (inout Figures) -> Void) -> BenchLimit.Kind {
      var figures = Figures(
        workload: BenchTest.read.workload, rate: 100, size: 20, mtu: 23, cpu: 0.1, peerCPU: 0.2)
      change(&figures)
      return BenchLimit(figures, LinkShare(figures)).kind
    }
    #expect(kind { $0.cpu = 0.95 } == .cpu)
    #expect(kind { $0.peerCPU = 0.95 } == .peerCPU)
    #expect(kind { ($0.cpu, $0.peerCPU) = (0.5, 0.4) } == .cpu)
    let notify = BenchTest.notify.workload
    #expect(kind { ($0.cpu, $0.peerCPU, $0.workload) = (0.5, 0.4, notify) } == .peer)
    #expect(kind { $0.peerCPU = nil } == .peer)
    #expect(kind { _ in } == .unknown)
    var commands = BenchTest.writeCommand.workload
    #expect(kind { ($0.workload, $0.waiting) = (commands, 0.7) } == .peer)
    commands.carrier = .channel
    #expect(kind { ($0.workload, $0.waiting) = (commands, 0.7) } == .credits)
    #expect(kind { $0.workload.pace = .seconds(1) / 101 } == .pace)
    #expect(kind { $0.workload.pace = .milliseconds(5) } == .unknown)
    #expect(limit(.notify, link(.le2M, 15, 251), size: 244, mtu: 247, share: 0.5).kind == .peer)
  }

  /// What a run of as many operations as the limit allows, times a factor, reached of the limit.
  private func share(
    _ workload: Workload, seconds: Double = 3, times factor: Double,
    _ change: (inout Figures) -> Void = { _ in }
  ) throws -> LinkShare {
    var figures = Figures(
      workload: workload, rate: 1, size: 20, seconds: seconds, mtu: 247, cpu: 0.1,
      link: link(.le2M, 15, 251))
    change(&figures)
    figures.rate = try #require(LinkShare(figures)).limit * factor
    return try #require(LinkShare(figures))
  }

  @Test(
    "A link that cannot have carried a run is another one, but for rounding",
    arguments: BenchTest.allCases)
  func another(test: BenchTest) throws {
    let workload = test.workload
    let full = try share(workload, times: 1)
    #expect(abs(full.share - 1) < 1e-9 && !full.isExceeded)
    // Three seconds have 200 intervals: two more, and 2 %.
    #expect(try !share(workload, times: 1.029).isExceeded)
    #expect(try share(workload, times: 1.031).isExceeded)
    #expect(try share(workload, times: 240).share == 240)
    // A tenth of a second has six.
    #expect(try !share(workload, seconds: 0.1, times: 1.3).isExceeded)
    #expect(try share(workload, seconds: 0.1, times: 1.35).isExceeded)
    // Values that this end has queued count before the link carries them.
    #expect(
      try !share(workload, seconds: 0.01, times: 3.9) { $0.isCountedBySender = true }.isExceeded)
  }

  @Test("What the model does not know is no reason to take a link for another one")
  func unmodelled() throws {
    // Values may use the unenhanced bearer, which carries more of this length.
    let bearers = EnhancedTraffic(bearers: 1, inFlight: 1, mtu: 247)
    let plain = try share(BenchTest.notify.workload, times: 1) { $0.size = 244 }
    let enhanced = try share(BenchTest.notify.workload, times: 1) {
      ($0.size, $0.enhanced) = (244, bearers)
    }
    #expect(enhanced.limit == plain.limit)
    let carried = link(.le2M, 15, 251).throughput(of: .notify, value: 244, over: bearers)
    #expect(carried.perSecond < 0.95 * enhanced.limit)
    // The last request of a long value is shorter: three intervals, three, and two.
    let longRead = try share(BenchTest.longRead.workload, times: 1) {
      ($0.size, $0.requests, $0.link) = (512, 3, link(.le1M, 5, 27))
    }
    #expect(abs(longRead.limit - 1 / 0.040) < 0.1)
    // A channel is unknown.
    var channel = BenchTest.writeCommand.workload
    channel.carrier = .channel
    let figures = Figures(
      workload: channel, rate: 1, size: 20, seconds: 3, mtu: 247, cpu: 0.1,
      link: link(.le2M, 15, 251))
    #expect(LinkShare(figures) == nil)
  }

  @Test("A result says that the reported or stated link is another one, but not of a simulated one")
  func results() async throws {
    let measured = Measurement(BenchTest.read.workload)
    measured.begin(pdus: 0)
    for _ in 0..<10_000 { measured.add(octets: 20, latency: 1000) }
    measured.end(pdus: 20_000)
    func result(_ link: MeasuredLink) async -> BenchResult {
      var result = BenchResult(measured, endpoint: "le:x", mtu: 247, error: nil)
      await result.setLimit(measured, over: link)
      return result
    }
    let parameters = link(.le1M, 50, 27)
    let phy = LinkPHY(transmit: .oneMegabit, receive: .oneMegabit)
    let agreed = AgreedParameters(interval: 40, latency: 0, supervisionTimeout: 42)
    let told = await result(.told(phy: phy, agreed, isEncrypted: false))
    let stated = await result(.stated(parameters))
    let simulated = await result(.simulated(parameters))
    for (result, origin) in [(told, " (reported by the kernel)"), (stated, "")] {
      #expect(
        result.shareText
          == "another link than phy=1M&interval=50ms&dle=27\(origin), which cannot carry this rate; its"
          + " limit is unknown")
      #expect(result.link?.another == true && result.link?.shareOfLimit == nil)
      #expect(result.link?.limitPerSecond == nil && result.limitedBy?.kind != .interval)
    }
    let share = try #require(simulated.link?.shareOfLimit)
    #expect(share > 1 && simulated.link?.another == nil)
    let text = try #require(simulated.shareText)
    #expect(
      text.hasSuffix("B/s limit of phy=1M&interval=50ms&dle=27; over 100 % by rounding"), "\(text)")
    #expect(
      simulated.limitedBy?.text.contains(" \(BenchLimit.text(ofShare: share)) of the link's limit")
        == true)
  }

  @Test("Faults are named by their numbers")
  func faults() {
    var faults = ValueFaults()
    #expect(faults.names == nil)
    for number: UInt32? in [0, 1, nil, 5, 3, 3, 4, 9] { faults.receive(number) }
    #expect(
      faults.names
        == ValueFaults.Names(lost: "2, 6-8", doubled: "3", outOfOrder: "3-4", damaged: "2"))
    #expect((faults.sequence.lost, faults.damaged) == (4, 1))
    for number in 0..<100 { faults.receive(UInt32(20 + 2 * number)) }
    #expect(faults.names?.lost == "2, 6-8, 10-19, 21, 23, 25, 27, 29, ...")
  }
}
