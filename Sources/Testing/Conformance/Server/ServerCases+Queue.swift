import AttoATT

extension ServerCase {
  /// Prepares parts of values, executes them, reads the values, and writes the earlier values again.
  /// Skips the case if a part is refused.
  ///
  /// - Returns: the values, in the order of `values`.
  private static func execute(
    _ bench: ServerBench, _ values: [Target],
    _ parts: [(handle: UInt16, offset: UInt16, part: [UInt8])]
  ) async throws -> [[UInt8]] {
    for (handle, offset, part) in parts {
      let response = try await bench.askIfSupported(
        [0x16] + octets(handle) + octets(offset) + part, called: "prepared writes")
      guard response[0] == 0x17 else {
        _ = try await bench.ask([0x18, 0])
        throw CaseStop.skipped("a prepared write is refused: \(bench.summary(response))")
      }
    }
    let executed = try await bench.ask([0x18, 1])
    var found: [[UInt8]] = []
    for value in values {
      found.append(Array(try await bench.read(value.handle).dropFirst()))
      _ = try await bench.write(value.octets, to: value.handle)
    }
    try bench.require(
      executed == [0x19], orSkip: "Execute Write is refused: \(bench.summary(executed))")
    return found
  }

  private static func check(
    _ bench: ServerBench, _ value: Target, _ found: [UInt8], is wanted: [UInt8]
  ) throws {
    try bench.check(
      found == wanted,
      "\(AttributeHandle(value.handle)) has another value after its parts were executed",
      expected: wanted, got: found)
  }

  private static let stored = Rule(
    "Execute Write writes the prepared parts in their order, and empties the queue",
    "Vol 3, Part F, 3.4.6.3")

  /// The prepare queue. Its cases restore the values.
  static let queue: [ServerCase] = [
    ServerCase("queue/executed", "prepared parts are written", stored, writes: true) { bench in
      for value in try await changeable(bench, upTo: 2) {
        // Two parts where the value has two octets.
        let new = other(value.octets)
        let half = (new.count + 1) / 2
        var parts = [(value.handle, UInt16(0), Array(new.prefix(half)))]
        if half < new.count {
          parts.append((value.handle, UInt16(half), Array(new.dropFirst(half))))
        }
        try check(bench, value, try await execute(bench, [value], parts)[0], is: new)
      }
    },
    ServerCase("queue/order", "parts that overlap", stored, writes: true) { bench in
      let value = try await changeable(bench)[0]
      let new = other(value.octets)
      for (first, last) in [(new, value.octets), (value.octets, new)] {
        let now = try await execute(
          bench, [value], [(value.handle, 0, first), (value.handle, 0, last)])[0]
        try check(bench, value, now, is: last)
      }
    },
    ServerCase("queue/values", "parts of two values", stored, writes: true) { bench in
      let values = try await changeable(bench, count: 2)
      let now = try await execute(bench, values, values.map { ($0.handle, 0, other($0.octets)) })
      for (value, now) in zip(values, now) { try check(bench, value, now, is: other(value.octets)) }
    },
    ServerCase("queue/emptied", "a queue is executed once", stored, writes: true) { bench in
      let value = try await changeable(bench)[0]
      _ = try await execute(bench, [value], [(value.handle, 0, other(value.octets))])
      let again = try await bench.ask([0x18, 1])
      let now = try await bench.read(value.handle)
      if now != [0x0B] + value.octets { _ = try await bench.write(value.octets, to: value.handle) }
      try bench.check(
        again == [0x19] && now == [0x0B] + value.octets,
        "the parts are still in the queue after Execute Write", expected: [0x0B] + value.octets,
        got: now)
    },
    ServerCase(
      "queue/link", "a queue ends with its link",
      "The prepare queue of a client is cleared when its link ends", "Vol 3, Part F, 3.4.6.1",
      writes: true
    ) { bench in
      let value = try await changeable(bench)[0]
      let response = try await bench.askIfSupported(
        [0x16] + octets(value.handle) + [0, 0] + other(value.octets), called: "prepared writes")
      try bench.require(response[0] == 0x17, orSkip: "a prepared write is refused")
      try await bench.reconnect()
      let executed = try await bench.ask([0x18, 1])
      let now = try await bench.read(value.handle)
      if now != [0x0B] + value.octets { _ = try await bench.write(value.octets, to: value.handle) }
      try bench.check(
        now == [0x0B] + value.octets, "a part of the last link was written",
        expected: [0x0B] + value.octets, got: now)
      try bench.check(
        executed == [0x19], "Execute Write was answered with \(bench.summary(executed))",
        expected: [0x19], got: executed)
    },
    ServerCase(
      "queue/echo", "a prepared write is echoed and can be cancelled",
      "A Prepare Write Response repeats the request; a cancelled write has no effect",
      "Vol 3, Part F, 3.4.6.1 to 3.4.6.3", writes: true
    ) { bench in
      let value = try await changeable(bench)[0]
      let rest = octets(value.handle) + [0, 0] + other(value.octets)
      let response = try await bench.askIfSupported([0x16] + rest, called: "prepared writes")
      try bench.check(
        response == [0x17] + rest, "the response was \(bench.summary(response))",
        expected: [0x17] + rest, got: response)
      _ = try await bench.ask([0x18, 0])
      try await expect(value.octets, bench, value.handle, "after the cancelled write")
    },
    ServerCase(
      "queue/offset", "a prepared part is written at its offset",
      "A prepared part is written at its offset into the value",
      "Vol 3, Part F, 3.4.6.1 and 3.4.6.3", writes: true
    ) { bench in
      let value = try await changeable(bench, atLeast: 2)[0]
      // Write the value's own end, so that it changes only if the offset is ignored.
      let response = try await bench.ask(
        [0x16] + octets(value.handle) + [1, 0] + value.octets.dropFirst())
      try bench.require(
        response[0] == 0x17, orSkip: "a prepared write is refused: \(bench.summary(response))")
      let executed = try await bench.ask([0x18, 1])
      let now = try await bench.read(value.handle)
      _ = try await bench.write(value.octets, to: value.handle)
      try bench.check(
        executed == [0x19],
        "Execute Write was answered with \(bench.summary(executed)) after a part at offset 1",
        expected: [0x19], got: executed)
      try bench.check(
        now == [0x0B] + value.octets, "the value is different after a part at offset 1",
        expected: [0x0B] + value.octets, got: now)
    },
    ServerCase(
      "queue/all-or-nothing", "one invalid part cancels the whole write",
      "Prepared writes are executed all together or not at all", "Vol 3, Part F, 3.4.6.3",
      writes: true
    ) { bench in
      let values = try await changeable(bench, count: 2)
      let (good, bad) = (values[0], values[1])
      let first = try await bench.ask([0x16] + octets(good.handle) + [0, 0] + other(good.octets))
      try bench.require(first[0] == 0x17, orSkip: "a prepared write is refused")
      let second = try await bench.ask([0x16] + octets(bad.handle) + [0xFF, 0x01, 0x55])
      guard second[0] == 0x17 else {
        // The queue has only the valid part then.
        _ = try await bench.ask([0x18, 0])
        throw CaseStop.skipped(
          "a part far after the end is refused when it is prepared: \(bench.summary(second))")
      }
      let response = try await bench.ask([0x18, 1])
      let now = try await bench.read(good.handle)
      // Restore the value before checking.
      _ = try await bench.write(good.octets, to: good.handle)
      let again = try await bench.ask([0x18, 1])
      let later = try await bench.read(good.handle)
      if later != [0x0B] + good.octets { _ = try await bench.write(good.octets, to: good.handle) }
      guard response[0] == 0x01 else {
        throw bench.rule.broken(
          "a part far after the end of \(AttributeHandle(bad.handle)) was written",
          expected: "the error \(ErrorCode.invalidOffset)", got: response)
      }
      try bench.check(
        now == [0x0B] + good.octets,
        "\(AttributeHandle(good.handle)) was written although Execute Write failed",
        expected: [0x0B] + good.octets, got: now)
      try bench.check(
        again == [0x19] && later == [0x0B] + good.octets,
        "the parts are still in the queue after Execute Write failed", expected: [0x19], got: again)
    },
    ServerCase(
      "queue/clients", "prepared parts belong to one client",
      "Each client has a prepare queue of its own", "Vol 3, Part F, 3.4.6.1", writes: true
    ) { bench in
      let value = try await changeable(bench)[0]
      let wanted = other(value.octets)
      let response = try await bench.askIfSupported(
        [0x16] + octets(value.handle) + [0, 0] + wanted, called: "prepared writes")
      try bench.require(response[0] == 0x17, orSkip: "a prepared write is refused")
      let executed = try await bench.asSecondClient { try await bench.ask([0x18, 1]) }
      try bench.require(executed != nil, orSkip: oneClient)
      let between = try await bench.read(value.handle)
      let own = try await bench.ask([0x18, 1])
      let after = try await bench.read(value.handle)
      _ = try await bench.write(value.octets, to: value.handle)
      try bench.check(
        between == [0x0B] + value.octets,
        "the Execute Write of another client has written this client's part",
        expected: [0x0B] + value.octets, got: between)
      try bench.check(
        own == [0x19] && after == [0x0B] + wanted,
        "this client's part was lost when another client executed its own queue",
        expected: [0x0B] + wanted, got: after)
    },
    ServerCase(
      "queue/full", "a queue that is filled beyond its limit",
      "A full queue is reported with Prepare Queue Full and keeps its parts",
      "Vol 3, Part F, 3.4.6.1", writes: true
    ) { bench in
      let value = try await changeable(bench)[0]
      let prepare = [0x16] + octets(value.handle) + [0, 0] + value.octets
      for _ in 0..<600 {
        let response = try await bench.ask(prepare)
        if response[0] == 0x17 { continue }
        try bench.check(
          [0x06, 0x09, 0x11].contains(response[4]),
          "it was refused with another error: \(bench.summary(response))", got: response)
        break
      }
      _ = try await bench.ask([0x18, 0])
    },
  ]
}
