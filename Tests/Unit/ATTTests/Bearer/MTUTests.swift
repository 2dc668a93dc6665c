import TestSupport
import AttoATT
import Testing

/// The exchange of ATT_MTU. Vol 3, Part F, 3.4.2.
@Suite(.sideBySide) struct MTUTests {
  private func bench(_ receiveMTU: Int = 517) -> BearerBench {
    BearerBench(BearerConfiguration(receiveMTU: receiveMTU))
  }

  @Test func beginsAt23() { #expect(bench().mtu == 23) }

  @Test(arguments: [
    (517, 517, 517), (517, 100, 100), (100, 517, 100), (517, 23, 23), (517, 22, 23),
    (517, 0, 23), (517, 1, 23), (517, 65535, 517), (65535, 65535, 65535), (23, 517, 23),
  ]) func thePeerAsks(own: Int, peer: Int, agreed: Int) {
    let bench = bench(own)
    #expect(bench.receive([0x02, UInt8(peer & 0xFF), UInt8(peer >> 8)]) == .answered)
    #expect(bench.sent == [hexText([0x03, UInt8(own & 0xFF), UInt8(own >> 8)])])
    #expect(bench.mtu == agreed)
  }

  @Test(arguments: [
    (517, 517, 517), (517, 100, 100), (100, 517, 100), (517, 22, 23), (517, 0, 23),
    (517, 65535, 517),
  ]) func weAsk(own: Int, peer: Int, agreed: Int) {
    let bench = bench(own)
    bench.request(1, hexText([0x02, UInt8(own & 0xFF), UInt8(own >> 8)]))
    #expect(bench.mtu == 23)
    #expect(bench.receive([0x03, UInt8(peer & 0xFF), UInt8(peer >> 8)]) == .response(1))
    #expect(bench.mtu == agreed)
  }

  /// H9 and H10: a second exchange, at once or later, gets the same response and changes nothing.
  @Test func h9h10TheSecondExchangeOfThePeer() {
    let bench = bench()
    bench.receive("02 f7 00")
    #expect(bench.mtu == 247)
    for pdu in ["02 17 00", "02 05 02", "02 00 00"] {
      #expect(bench.receive(pdu) == .answered)
      #expect(bench.mtu == 247)
    }
    #expect(bench.sent == ["03 05 02", "03 05 02", "03 05 02", "03 05 02"])
  }

  /// On a link that may be reused, the second exchange comes from the next client.
  @Test func theNextClientExchangesOnTheSameLink() {
    var configuration = BearerConfiguration()
    configuration.linkMayBeReused = true
    let bench = BearerBench(configuration)
    for (pdu, agreed) in [("02 f7 00", 247), ("02 17 00", 23), ("02 05 02", 517)] {
      #expect(bench.receive(pdu) == .answered)
      #expect(bench.mtu == agreed)
    }
  }

  /// The peer's responses and values may have the former length until we exchange. Requests may
  /// not.
  @Test func aReusedLinkBringsLongAnswers() {
    func limit(_ bench: BearerBench, _ opcode: UInt8) -> Int {
      bench.bearer.receiveLimit(([opcode] + [UInt8](repeating: 0, count: 99)).span.bytes)
    }
    var configuration = BearerConfiguration()
    configuration.linkMayBeReused = true
    let bench = BearerBench(configuration)
    for opcode: UInt8 in [0x0B, 0x1B, 0x1D] { #expect(limit(bench, opcode) == 100) }
    for opcode: UInt8 in [0x12, 0x52, 0x1E] { #expect(limit(bench, opcode) == 23) }
    bench.request(1, "02 05 02")
    bench.receive("03 1e 00")
    #expect(limit(bench, 0x0B) == 30)
    #expect(limit(BearerBench(BearerConfiguration()), 0x0B) == 23)
  }

  @Test func weAskOnce() {
    let bench = bench()
    #expect(bench.canExchangeMTU)
    bench.request(1, "02 05 02")
    #expect(!bench.canExchangeMTU)
    bench.receive("03 05 02")
    #expect(!bench.canExchangeMTU)
    // A second response has no request.
    #expect(bench.receive("03 17 00") == .ignored(.unsolicitedResponse(.exchangeMTUResponse)))
    #expect(bench.mtu == 517)
  }

  /// Both sides use the smallest value that either has named.
  @Test func bothAskOneAfterTheOther() {
    for (first, second) in [("02 f7 00", "03 f7 00"), ("02 f7 00", "03 05 02")] {
      let bench = bench()
      bench.receive(first)
      bench.request(1, "02 05 02")
      bench.receive(second)
      #expect(bench.mtu == 247)
    }
    let bench = bench()
    bench.request(1, "02 05 02")
    bench.receive("03 05 02")
    bench.receive("02 05 02")
    #expect(bench.mtu == 517)
  }

  @Test func bothAskAtTheSameTime() {
    let bench = bench()
    bench.request(1, "02 05 02")
    #expect(bench.receive("02 f7 00") == .answered)
    #expect(bench.sent == ["02 05 02", "03 05 02"])
    #expect(bench.receive("03 f7 00") == .response(1))
    #expect(bench.mtu == 247)
  }

  /// If the peer refuses our exchange, its own exchange still counts.
  @Test func thePeerAsksAndRefuses() {
    let bench = bench()
    bench.receive("02 05 02")
    bench.request(1, "02 05 02")
    #expect(bench.receive("01 02 00 00 06") == .response(1))
    #expect(bench.mtu == 517)
    #expect(!bench.holdsValues)
  }

  @Test func thePeerRefusesAndAsksLater() {
    let bench = bench()
    bench.request(1, "02 05 02")
    #expect(bench.receive("01 02 00 00 06") == .response(1))
    #expect(bench.mtu == 23)
    #expect(!bench.canExchangeMTU)
    bench.receive("02 64 00")
    #expect(bench.mtu == 100)
  }

  /// A cancelled exchange still takes effect.
  @Test func aCancelledExchange() {
    let bench = bench()
    bench.request(1, "02 05 02")
    bench.bearer.cancel(request: 1)
    #expect(bench.holdsValues)
    #expect(bench.receive("03 64 00") == .ignored(.abandoned))
    #expect(bench.mtu == 100)
    #expect(!bench.holdsValues)
  }

  /// A request that arrives during the exchange is answered at the old ATT_MTU, and no value is
  /// sent before the response.
  @Test func midExchange() {
    let bench = bench()
    #expect(!bench.holdsValues)
    bench.request(1, "02 05 02")
    #expect(bench.holdsValues)
    #expect(bench.receive("0a 03 00") == .request)
    #expect(bench.mtu == 23)
    bench.respond(hexText([UInt8](repeating: 0x0B, count: 23)))
    #expect(bench.receive([UInt8](repeating: 0x0A, count: 24)) == .answered)
    bench.receive("03 05 02")
    #expect(!bench.holdsValues)
    #expect(bench.mtu == 517)
  }

  /// The new value applies from the next PDU after the response on.
  @Test func longPDUsAfterTheExchange() {
    let bench = bench(100)
    let write = { (count: Int) in [0x12, 3, 0] + [UInt8](repeating: 0, count: count - 3) }
    #expect(bench.receive(write(24)) == .answered)
    bench.receive("02 64 00")
    #expect(bench.receive(write(100)) == .request)
    bench.respond("13")
    #expect(bench.receive(write(101)) == .answered)
    #expect(bench.sent.last == "01 12 00 00 04")
  }

  /// On an enhanced bearer ATT_MTU is the MTU of the channel. Vol 3, Part F, 3.4.2.1.
  @Test func enhancedBearersHaveNoExchange() {
    let bench = BearerBench(BearerConfiguration(channel: .enhanced(mtu: 247)))
    #expect(bench.mtu == 247)
    #expect(!bench.canExchangeMTU)
    #expect(bench.receive("02 05 02") == .answered)
    #expect(bench.sent == ["01 02 00 00 06"])
    #expect(bench.mtu == 247)
  }

  @Test func anExchangeThatTimesOut() {
    let bench = bench()
    bench.request(1, "02 05 02")
    #expect(
      bench.bearer.advance(to: .zero + .seconds(30))
        == .failed(.transactionTimeout(.exchangeMTURequest)))
  }
}
