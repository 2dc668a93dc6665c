import AttoEventLoop
import TestSupport
import Testing

@testable import AttoGateway

@Suite("Lines that strangers cause", .timeLimit(.minutes(5)), .oneByOne) struct LogQuotaTests {
  @Test func linesBeyondTheLimitAreCounted() async {
    let (lines, logged) = AsyncStream.makeStream(of: String.self)
    let quota = LoopBound(
      LogQuota("lines about clients", window: .milliseconds(20), on: .shared) {
        logged.yield("\($0) \($1)")
      }, .shared)
    var iterator = lines.makeAsyncIterator()
    for _ in 0..<2 {
      Loop.shared.execute {
        for number in 1...LogQuota.limit + 5 { quota.value.log(.info, "refused \(number)") }
      }
      for number in 1...LogQuota.limit {
        #expect(await iterator.next() == "info refused \(number)")
      }
      #expect(await iterator.next() == "warning ... 5 more lines about clients in the last 0 s")
    }
    // Few enough are logged without a count.
    Loop.shared.execute { quota.value.log(.info, "refused") }
    #expect(await iterator.next() == "info refused")
    Loop.shared.execute {
      quota.value.flush()
      logged.finish()
    }
    #expect(await iterator.next() == nil)
  }
}
