import ATT

extension ServerCase {
  private static let inOrder = Rule(
    "Requests are answered one after the other, in the order of their coming, or refused",
    "Vol 3, Part F, 3.3.2")

  /// Several requests at once.
  static let ordered: [ServerCase] = [
    ServerCase("order/pipelined", "requests that come before the first is answered") {
      bench throws(CaseStop) in
      // The slowest value shows best whether later requests overtake it.
      let slow = bench.known.readable.last
      let first = [0x0A] + octets(slow?.handle ?? 1)
      let second: [UInt8] = [0x04, 0x01, 0x00, 0xFF, 0xFF]
      try await bench.wire.send(first)
      try await bench.wire.send(second)
      var seen: [UInt8] = []
      while seen.count < 2, let response = try await bench.next() {
        let request = response[0] == 0x01 && response.count == 5 ? response[1] : response[0] &- 1
        guard request == 0x0A || request == 0x04 else {
          throw Rule.matches.broken("\(bench.summary(response)) came", got: response)
        }
        if seen.isEmpty, request == 0x04, response[0] != 0x01 {
          // Alone, the second may be answered: the first was dropped. Then nothing else comes.
          guard let late = try await bench.next() else { return }
          throw inOrder.broken(
            "the second request was answered first: \(bench.summary(response))",
            expected: "the response to \(bench.name(first))", got: late)
        }
        seen.append(request)
      }
      guard !seen.isEmpty else { throw inOrder.broken("neither request was answered") }
    },
    ServerCase("links/second", "a second client harms the first in no way") {
      bench throws(CaseStop) in
      let rule = Rule(
        "Each link has a bearer of its own, with transactions and an ATT_MTU of its own",
        "Vol 3, Part F, 3.2.11 and 3.3.2")
      try await bench.probe()
      bench.turn(to: 2)
      var isServed = false
      do throws(CaseStop) {
        isServed = try await bench.tryAsking([0x04, 1, 0, 1, 0]) != nil
      } catch {
        // A server may have room for one client alone.
        guard case .link(let failure) = error, failure != .cancelled else { throw error }
      }
      bench.turn(to: 1)
      guard try await bench.tryAsking([0x04, 1, 0, 1, 0]) != nil else {
        throw rule.broken("the first client gets no answer any more")
      }
      guard isServed else { throw .skipped("the server serves one client at a time") }
      bench.turn(to: 2)
      await bench.wire.close()
      bench.turn(to: 1)
    },
  ]
}
