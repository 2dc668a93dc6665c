import AttoATT

extension ServerCase {
  /// The exchange of ATT_MTU. Vol 3, Part F, 3.4.2.
  static let mtu: [ServerCase] = [
    ServerCase(
      "mtu/exchange", "the server answers the exchange of ATT_MTU",
      "A server offers an ATT_MTU of 23 or more", "Vol 3, Part F, 3.4.2.2"
    ) { bench in
      let theirs = try await bench.exchange(185)
      try bench.check(theirs >= 23, "the server offered \(theirs)")
    },
    ServerCase("mtu/used", "after the exchange, long values fill ATT_MTU", .fits) { bench in
      try await bench.exchange(100)
      try await bench.require(
        longValue(bench) != nil,
        orSkip: "no readable value is longer than a response at the default ATT_MTU")
    },
    ServerCase(
      "mtu/small", "an offer below 23 leaves the default",
      "ATT_MTU is never below 23", "Vol 3, Part F, 3.2.8 and 3.4.2.2"
    ) { bench in
      try await bench.exchange(5)
      let long = bench.known.readable.first { $0.octets?.count == 22 }
      guard let long else { return }
      let response = try await bench.read(long.handle)
      guard response.count == 23 else {
        throw bench.rule.broken(
          "the response with a long value has \(response.count) octets", expected: "23 octets",
          got: response)
      }
    },
    ServerCase(
      "mtu/repeated", "the server answers a second exchange, which has no effect",
      "ATT_MTU is exchanged once: a further request is answered and has no effect",
      "Vol 3, Part F, 3.4.2.1"
    ) { bench in
      try await bench.exchange(100)
      guard let (value, before) = try await longValue(bench) else {
        _ = try await bench.ask([0x02, 0x17, 0x00])
        return
      }
      guard let answer = try await bench.tryAsking([0x02, 0x17, 0x00]) else {
        throw bench.rule.broken(
          "received no response to the second request within \(bench.patience)")
      }
      guard answer[0] == 0x03 else { return }
      let after = try await bench.read(value.handle)
      try bench.check(
        after.count >= before.count,
        "a response of \(before.count) octets has only \(after.count) now", got: after)
    },
    ServerCase(
      "mtu/twice-at-once", "two exchanges, the second before the first is answered", .answered
    ) { bench in
      // Either both are answered, or the second is refused or dropped.
      try await bench.links.send([0x02, 0x64, 0x00])
      try await bench.links.send([0x02, 0x40, 0x00])
      var count = 0
      while count < 2, let response = try await bench.next() {
        try Rule.matches.check(
          response[0] == 0x03 || response.starts(with: [0x01, 0x02]),
          "received \(bench.summary(response))", got: response)
        count += 1
      }
      try bench.check(count > 0, "neither request was answered")
    },
  ]

  /// Finds a value longer than a response at the default ATT_MTU. The survey read 22 octets of each,
  /// which may be the whole value. Returns the value and the response of reading it now.
  private static func longValue(
    _ bench: ServerBench
  ) async throws -> (value: KnownServer.Value, response: [UInt8])? {
    for value in bench.known.readable where value.octets?.count == 22 {
      let response = try await bench.read(value.handle)
      if response.count > 23 { return (value, response) }
    }
    return nil
  }
}
