import AttoATT
import TestSupport
import Testing

@testable import Atto

@Suite("Times of exchanges", .oneByOne) struct ExchangeTimerTests {
  private final class Reports {
    var all: [TimedExchange] = []
  }

  @Test("A response ends the request that was sent last, and nothing else does")
  func exchanges() {
    let reports = Reports()
    let timer = ExchangeTimer(nil) { reports.all.append($0) }
    func sends(_ pdu: [UInt8], _ now: Int64) { timer.sends(pdu.span.bytes, at: now) }
    func received(_ pdu: [UInt8], _ now: Int64) { timer.received(pdu.span.bytes, at: now) }
    func trip(_ call: Int64, _ program: Int64) -> TimedExchange {
      .roundTrip(sent: .init(call: call), response: .init(program: program))
    }
    #expect(!timer.collects)
    // A response to nothing, an empty PDU, a confirmation; a command, which is reported as it is sent.
    received([0x0B, 1], 1)
    received([], 2)
    sends([], 2)
    sends([0x52, 3, 0], 3)
    received([0x13], 4)
    sends([0x1E], 5)
    received([0x0B], 6)
    #expect(reports.all == [.command(.init(call: 3))])
    reports.all = []
    // A request that the link takes at the second attempt, and a notification before its response.
    sends([0x0A, 3, 0], 10)
    sends([0x0A, 3, 0], 12)
    received([0x1B, 3, 0, 9], 15)
    received([0x0B, 9], 20)
    received([0x0B, 9], 21)
    #expect(reports.all == [.value(.init(program: 15)), trip(12, 20)])
    // An error is a response. Requests of the peer, and responses to them, are not timed.
    sends([0x12, 3, 0, 1], 30)
    received([0x0A, 1, 0], 31)
    sends([0x0B, 1], 32)
    received([0x01, 0x12, 3, 0, 3], 33)
    received([0x1D, 3, 0], 34)
    #expect(reports.all.suffix(2) == [trip(30, 33), .value(.init(program: 34))])
  }
}
