import ATT

extension ServerCase {
  /// The exchange of ATT_MTU. Vol 3, Part F, 3.4.2.
  static let exchanging: [ServerCase] = [
    ServerCase("mtu/exchange", "an exchange of ATT_MTU is answered") { bench throws(CaseStop) in
      let rule = Rule("A server names what it can receive: 23 or more", "Vol 3, Part F, 3.4.2.2")
      let theirs = try await bench.exchange(185)
      guard theirs >= 23 else { throw rule.broken("the server named \(theirs)") }
    },
    ServerCase("mtu/used", "after the exchange, long values fill the agreed length") {
      bench throws(CaseStop) in
      try await bench.exchange(100)
      guard try await longValue(bench) != nil else {
        throw .skipped("no readable value is longer than a response at the default ATT_MTU")
      }
    },
    ServerCase("mtu/small", "an offer below 23 leaves the default") { bench throws(CaseStop) in
      _ = try await bench.exchange(5)
      guard let value = bench.known.readable.first(where: { $0.octets?.count == 22 }) else {
        return
      }
      let rule = Rule("ATT_MTU is never below 23", "Vol 3, Part F, 3.2.8 and 3.4.2.2")
      let response = try await bench.ask([0x0A] + octets(value.handle))
      guard response.count == 23 else {
        throw rule.broken(
          "a long value was answered in \(response.count) octets", expected: "23 octets",
          got: response)
      }
    },
    ServerCase("mtu/repeated", "a second exchange is answered, and changes nothing") {
      bench throws(CaseStop) in
      let rule = Rule(
        "ATT_MTU is agreed on once: a further request is answered and changes nothing",
        "Vol 3, Part F, 3.4.2.1")
      try await bench.exchange(100)
      guard let (value, before) = try await longValue(bench) else {
        _ = try await bench.ask([0x02, 0x17, 0x00])
        return
      }
      guard let answer = try await bench.tryAsking([0x02, 0x17, 0x00]) else {
        throw rule.broken("the second request got no response within \(bench.patience)")
      }
      guard answer[0] == 0x03 else { return }
      let after = try await bench.ask([0x0A] + octets(value.handle))
      guard after.count >= before.count else {
        throw rule.broken(
          "a value that was answered in \(before.count) octets is answered in \(after.count) now",
          got: after)
      }
    },
    ServerCase("mtu/twice-at-once", "two exchanges, the second before the first is answered") {
      bench throws(CaseStop) in
      // One answer or two, or an error: but the server lives, and so does its answer to a read.
      try await bench.wire.send([0x02, 0x64, 0x00])
      try await bench.wire.send([0x02, 0x40, 0x00])
      var count = 0
      while count < 2, let response = try await bench.next() {
        guard response[0] == 0x03 || response.starts(with: [0x01, 0x02]) else {
          throw Rule.matches.broken("\(bench.summary(response)) came", got: response)
        }
        count += 1
      }
      guard count > 0 else { throw Rule.answered.broken("neither request was answered") }
    },
  ]

  /// A value that fills more than a response at the default ATT_MTU, and what a Read Request brings
  /// of it now. The survey read 22 octets of it, and 22 may be all: each is read until one is longer.
  private static func longValue(
    _ bench: ServerBench
  ) async throws(CaseStop) -> (value: KnownServer.Value, response: [UInt8])? {
    for value in bench.known.readable where value.octets?.count == 22 {
      let response = try await bench.ask([0x0A] + octets(value.handle))
      if response.count > 23 { return (value, response) }
    }
    return nil
  }
}
