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
      let (value, length) = try await longValue(bench)
      // No longer than the value, so that a server that uses its own offer is seen too.
      try await bench.exchange(UInt16(max(24, min(length, 100))))
      try await checkLengths(bench, value.handle, length)
    },
    ServerCase(
      "mtu/large", "the largest offer",
      "ATT_MTU is the smaller offer, a Read Response has at most ATT_MTU - 1 octets of a value, and an "
        + "entry of Read By Type at most 253", "Vol 3, Part F, 3.4.2, 3.4.4.2 and 3.4.4.4"
    ) { bench in
      try await bench.exchange(0xFFFF)
      for value in bench.known.readable.filter({ $0.octets?.count == 22 }).prefix(8) {
        let whole = try await wholeValue(bench, value.handle)
        guard whole.count >= 22 else { continue }
        try await checkLengths(bench, value.handle, whole.count)
        let handle = octets(value.handle)
        let typed = try await bench.ask([0x08] + handle + handle + value.uuid)
        let wanted = min(whole.count, bench.mtu - 4, 253)
        try bench.check(
          typed[0] == 0x01 || typed.count == 4 + wanted,
          "Read By Type returned \(typed.count - 4) of \(whole.count) octets with an ATT_MTU of "
            + "\(bench.mtu)", got: typed)
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

  /// Checks how many octets of a value Read and Read Blob return.
  private static func checkLengths(
    _ bench: ServerBench, _ handle: UInt16, _ length: Int
  ) async throws {
    for (request, offset) in [
      ([0x0A] + octets(handle), 0), ([0x0C] + octets(handle) + [1, 0], 1),
    ] as [([UInt8], Int)] {
      let response = try await bench.ask(request)
      let wanted = 1 + min(bench.mtu - 1, length - offset)
      guard response[0] == 0x01 || response.count >= wanted else {
        throw bench.rule.broken(
          "\(length - offset) octets or more of a value are cut to \(response.count - 1) with an "
            + "ATT_MTU of \(bench.mtu)", expected: "\(wanted) octets or more", got: response)
      }
    }
  }

  /// Reads a value with Read Blob, up to its end or to some 600 octets; empty if that is refused.
  static func wholeValue(_ bench: ServerBench, _ handle: UInt16) async throws -> [UInt8] {
    var whole: [UInt8] = []
    while whole.count < 600 {
      let part = try await bench.ask([0x0C] + octets(handle) + octets(UInt16(whole.count)))
      guard part[0] == 0x0D, part.count > 1 else { break }
      whole += part.dropFirst()
      // A part that is too short is another case's matter.
    }
    return whole
  }

  /// Finds a value longer than a response at the default ATT_MTU, with the octets that it has at least.
  /// The survey read 22 octets of each, which may be the whole value.
  static func longValue(
    _ bench: ServerBench
  ) async throws -> (value: KnownServer.Value, length: Int) {
    for value in bench.known.readable where value.octets?.count ?? 0 > 19 {
      let whole = try await wholeValue(bench, value.handle)
      if whole.count > 22 { return (value, whole.count) }
    }
    throw CaseStop.skipped("no readable value is longer than a response at the default ATT_MTU")
  }
}
