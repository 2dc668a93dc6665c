import AttoLinks
import AttoRadio
import TestSupport
import Testing

@testable import AttoGateway
@testable import AttoMQTT

@Suite(.sideBySide) struct ForwardingLimitTests {
  private func heard(
    _ octets: [UInt8], at milliseconds: Int64, address: UInt64 = 1, rssi: Int8 = -50
  ) -> Heard {
    Heard(
      discovery: Discovery(
        address: BluetoothAddress(address), rssi: rssi, isConnectable: true, advertisement: octets,
        scanResponse: []),
      adapter: .air, time: milliseconds * 1_000_000)
  }

  @Test func theSameIsForwardedOnceInATime() {
    var limit = ForwardingLimit(every: .seconds(10))
    var taken: [Int64] = []
    // Ten times a second for a minute, with a strength that changes.
    for time in stride(from: Int64(5), to: 60_000, by: 100)
    where limit.takes(heard([1], at: time, rssi: Int8(-40 - time % 7))) {
      taken.append(time)
    }
    #expect(taken == [5, 10_005, 20_005, 30_005, 40_005, 50_005])
  }

  @Test func aChangeIsForwardedAtOnceWithinABound() {
    var limit = ForwardingLimit(every: .seconds(10))
    let first = (0..<4).map { limit.takes(heard([UInt8($0)], at: 100 + Int64($0))) }
    #expect(first == [true, true, true, true])
    let early = limit.takes(heard([9], at: 110))
    #expect(!early)
    // What it says when it has a token again.
    let tooEarly = limit.takes(heard([9], at: 1_099))
    #expect(!tooEarly)
    let due = limit.takes(heard([9], at: 1_100))
    #expect(due)
    // One that changes each time, ten times a second.
    let times = stride(from: Int64(1_200), to: 61_200, by: 100)
    let taken = times.filter { limit.takes(heard([UInt8($0 / 100 % 200)], at: $0)) }
    #expect(taken.count == 60)
    // After a silence it has all tokens, and no more.
    let later = (0..<6).map { limit.takes(heard([UInt8(220 + $0)], at: 600_000)) }
    #expect(later == [true, true, true, true, false, false])
  }

  @Test func devicesDoNotShareTheLimit() {
    var limit = ForwardingLimit(every: .seconds(10))
    let first = (1...9).filter { limit.takes(heard([1], at: 0, address: UInt64($0))) }
    let again = (1...9).filter { limit.takes(heard([1], at: 9_999, address: UInt64($0))) }
    #expect(first.count == 9 && again.isEmpty)
  }

  @Test func whatMayBeLostIsForwardedAgain() {
    var limit = ForwardingLimit(every: .seconds(10))
    let first = limit.takes(heard([1], at: 0))
    limit.forget()
    let again = limit.takes(heard([1], at: 1))
    #expect(first && again)
  }

  @Test func withoutATimeEverythingIsForwarded() {
    var limit = ForwardingLimit(every: .zero)
    let taken = (0..<50).filter { _ in limit.takes(heard([1], at: 0)) }
    #expect(taken.count == 50 && limit.count == 0)
  }

  @Test func devicesBeyondTheLimit() {
    var limit = ForwardingLimit(every: .seconds(10))
    for number in 0...ForwardingLimit.deviceLimit {
      let isNew = limit.takes(heard([1], at: Int64(number), address: UInt64(number)))
      #expect(isNew)
    }
    #expect(limit.count == ForwardingLimit.deviceLimit)
    // The first was forgotten; the last was not.
    let first = limit.takes(heard([1], at: 5_000, address: 0))
    #expect(first)
    let last = limit.takes(heard([1], at: 5_000, address: UInt64(ForwardingLimit.deviceLimit)))
    #expect(!last)
  }
}
