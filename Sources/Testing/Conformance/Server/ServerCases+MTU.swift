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
    ServerCase(
      "mtu/used", "after the exchange, long values fill ATT_MTU",
      "A Read Response has the first ATT_MTU - 1 octets of a longer value, and ATT_MTU is the smaller offer",
      "Vol 3, Part F, 3.4.4.4 and 3.4.2.2"
    ) { bench in
      // Before the exchange, because a server that does not use its result has no long responses.
      let (value, length) = try bench.require(
        await longValue(bench),
        orSkip: "no readable value is longer than a response at the default ATT_MTU")
      try await bench.exchange(100)
      let response = try await bench.read(value.handle)
      let wanted = min(bench.mtu, 1 + length)
      guard response[0] == 0x01 || response.count >= wanted else {
        throw bench.rule.broken(
          "a value of \(length) octets or more is cut to \(response.count - 1) with an ATT_MTU of"
            + " \(bench.mtu)", expected: "\(wanted) octets or more", got: response)
      }
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
      "mtu/repeated", "the server answers a second exchange", .answered
    ) { bench in
      // Only the client is bound to one exchange (Vol 3, Part F, 3.4.2.1). What ATT_MTU is after a second
      // one is left to the server, which may refuse it, keep the first result or use the second.
      try await bench.exchange(100)
      _ = try await bench.ask([0x02, 0x17, 0x00])
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

  /// Finds a value longer than a response at the default ATT_MTU, with the octets that it has at least.
  /// The survey read 22 octets of each, which may be the whole value.
  private static func longValue(
    _ bench: ServerBench
  ) async throws -> (value: KnownServer.Value, length: Int)? {
    for value in bench.known.readable where value.octets?.count == 22 {
      let rest = try await bench.ask([0x0C] + octets(value.handle) + [22, 0])
      if rest[0] == 0x0D, rest.count > 1 { return (value, 22 + rest.count - 1) }
    }
    return nil
  }
}
