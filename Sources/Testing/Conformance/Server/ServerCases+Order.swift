import AttoATT

extension ServerCase {
  /// Several requests at once.
  static let order: [ServerCase] = [
    ServerCase(
      "order/pipelined", "a second request before the first is answered",
      "Requests are answered in order, or refused", "Vol 3, Part F, 3.3.2"
    ) { bench in
      // With the slowest value, it is most likely that the second request overtakes it.
      let first = [0x0A] + octets(bench.known.slowest?.handle ?? 1)
      try await bench.links.send(first)
      try await bench.links.send([0x04, 0x01, 0x00, 0xFF, 0xFF])
      var seen: [UInt8] = []
      while seen.count < 2, let response = try await bench.next() {
        let request = response[0] == 0x01 && response.count == 5 ? response[1] : response[0] &- 1
        try Rule.matches.check(
          request == 0x0A || request == 0x04, "received \(bench.summary(response))", got: response)
        if seen.isEmpty, request == 0x04, response[0] != 0x01 {
          // The server may have dropped the first request, if no other response follows.
          guard let late = try await bench.next() else { return }
          throw bench.rule.broken(
            "the second request was answered first: \(bench.summary(response))",
            expected: "the response to \(bench.name(first))", got: late)
        }
        seen.append(request)
      }
      try bench.check(!seen.isEmpty, "neither request was answered")
    },
    ServerCase(
      "links/second", "a second client does not affect the first",
      "Each link has its own bearer, with its own transactions and ATT_MTU",
      "Vol 3, Part F, 3.2.11 and 3.3.2"
    ) { bench in
      try await bench.probe()
      let served: Void? = try await bench.asSecondClient {}
      guard try await bench.tryAsking([0x04, 1, 0, 1, 0]) != nil else {
        throw bench.rule.broken("the first client is not answered any more")
      }
      try bench.require(served != nil, orSkip: oneClient)
      // Both at once: each response must come on the link of its request.
      try await bench.links.send([0x0A, 1, 0])
      let again: Void? = try await bench.asSecondClient {}
      try bench.check(again != nil, "the second client is not answered any more")
      let own = try await bench.next()
      try bench.check(
        own?.first == 0x0B || own?.starts(with: [0x01, 0x0A]) == true,
        "the first client received another response", got: own)
      await bench.endSecondClient()
    },
    ServerCase(
      "links/mtu", "each link has its own ATT_MTU",
      "ATT_MTU is 23 on each link until it is exchanged there", "Vol 3, Part F, 3.2.8 and 3.2.11"
    ) { bench in
      let (value, length) = try await longValue(bench)
      let request = [0x0A] + octets(value.handle)
      try await bench.exchange(100)
      let before = try await bench.ask(request)
      let other = try await bench.asSecondClient {
        let response = try await bench.ask(request)
        try await bench.exchange(24)
        return response
      }
      if let other {
        try bench.check(
          other[0] == 0x01 || other.count == 23,
          "a value of \(length) octets was cut to \(other.count - 1) for a second client",
          got: other)
        let own = try await bench.ask(request)
        try bench.check(
          own.count == before.count,
          "the exchange of a second client changes ATT_MTU of the first", got: own)
      }
      try await bench.reconnect()
      let fresh = try await bench.ask(request)
      try bench.check(
        fresh[0] == 0x01 || fresh.count == 23,
        "a value of \(length) octets was cut to \(fresh.count - 1) on a new link", got: fresh)
      try bench.require(other != nil, orSkip: oneClient)
    },
    ServerCase("order/once", "each request has one response", .answered) { bench in
      let handle = octets(bench.known.readable.first?.handle ?? 1)
      let all: [UInt8] = [1, 0, 0xFF, 0xFF]
      for pdu in [
        [0x02, 23, 0], [0x04] + all, [0x06] + all + [0x00, 0x28, 0x99, 0xEE],
        [0x08] + all + [0x03, 0x28], [0x0A] + handle, [0x0A, 0, 0], [0x0C] + handle + [0, 0],
        [0x0E] + handle + handle, [0x10] + all + [0x00, 0x28], [0x12, 0, 0, 0],
        [0x18, 0], [0x20] + handle + handle,
      ] as [[UInt8]] {
        let response = try await bench.ask(pdu)
        guard let more = try await bench.unasked(within: .milliseconds(20)) else { continue }
        try bench.check(
          Opcode(more.first ?? 0).kind == .indication,
          "\(bench.summary(more)) follows the response to \(bench.name(pdu))", expected: response,
          got: more)
        try await bench.links.send([0x1E])
      }
    },
  ]

  static let oneClient =
    "there is one client at a time: the server serves no other, or the kernel has one link to it"
}
