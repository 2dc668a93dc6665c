import AttoATT

extension ServerCase {
  /// Several requests at once.
  static let order: [ServerCase] = [
    ServerCase(
      "order/pipelined", "a second request before the first is answered",
      "Requests are answered in order, or refused", "Vol 3, Part F, 3.3.2"
    ) { bench in
      // With the slowest value, it is most likely that the second request overtakes it.
      let first = [0x0A] + octets(bench.known.readable.last?.handle ?? 1)
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
      bench.links.turn(to: 2)
      var isServed = false
      do {
        isServed = try await bench.tryAsking([0x04, 1, 0, 1, 0]) != nil
      } catch let failure as PeerError where failure != .cancelled {
        // A server may accept only one client.
      }
      bench.links.turn(to: 1)
      guard try await bench.tryAsking([0x04, 1, 0, 1, 0]) != nil else {
        throw bench.rule.broken("the first client is not answered any more")
      }
      try bench.require(isServed, orSkip: "the server serves one client at a time")
      bench.links.turn(to: 2)
      await bench.links.close()
      bench.links.turn(to: 1)
    },
  ]
}
