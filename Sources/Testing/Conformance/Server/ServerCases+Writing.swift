import AttoATT

extension ServerCase {
  typealias Target = (handle: UInt16, octets: [UInt8])

  /// Finds values that fit one PDU, accept their current value, and keep it: `count` or more, up to
  /// `limit`.
  static func writable(
    _ bench: ServerBench, count: Int = 1, upTo limit: Int? = nil, atLeast length: Int = 1
  ) async throws -> [Target] {
    var found: [Target] = []
    for value in bench.known.readable where value.isWritable {
      guard let octets = value.octets, length <= octets.count, octets.count <= 18 else { continue }
      guard try await bench.read(value.handle) == [0x0B] + octets,
        try await bench.write(octets, to: value.handle) == [0x13],
        try await bench.read(value.handle) == [0x0B] + octets
      else { continue }
      found.append((value.handle, octets))
      if found.count == limit ?? count { return found }
    }
    guard found.count < count else { return found }
    throw CaseStop.skipped(
      "fewer than \(count) values of at least \(length) octets are writable in one PDU")
  }

  static func expect(
    _ value: [UInt8], _ bench: ServerBench, _ handle: UInt16, _ when: String
  ) async throws {
    let response = try await bench.read(handle)
    try bench.check(
      response == [0x0B] + value, "\(AttributeHandle(handle)) has another value \(when)",
      expected: [0x0B] + value, got: response)
  }

  static func other(_ value: [UInt8]) -> [UInt8] { [value[0] ^ 0x01] + value.dropFirst() }

  /// Cases that write. They restore the values.
  static let writing: [ServerCase] = [
    ServerCase(
      "write/same", "a written value can be read",
      "A written value is stored", "Vol 3, Part F, 3.4.5.1", writes: true
    ) { bench in
      let value = try await writable(bench)[0]
      let response = try await bench.write(value.octets, to: value.handle)
      try bench.require(
        response == [0x13],
        orSkip: "writing its own value to \(AttributeHandle(value.handle)) is refused: "
          + bench.summary(response))
      try await expect(value.octets, bench, value.handle, "after it was written")
    },
    ServerCase(
      "write/stored", "a write changes the value",
      "A written value is stored", "Vol 3, Part F, 3.4.5.1", writes: true
    ) { bench in
      // A server may judge what is written to one of its values, but hardly all of them.
      var unchanged: (Target, response: [UInt8])?
      for value in try await writable(bench, upTo: 4) {
        guard try await bench.write(other(value.octets), to: value.handle) == [0x13] else {
          continue
        }
        let now = try await bench.read(value.handle)
        _ = try await bench.write(value.octets, to: value.handle)
        guard now == [0x0B] + value.octets else { return }
        unchanged = (value, now)
      }
      let (value, now) = try bench.require(unchanged, orSkip: "no value accepts another one")
      throw bench.rule.broken(
        "\(AttributeHandle(value.handle)) accepted another value and has its old one",
        expected: EncodedText.hex([0x0B] + other(value.octets)), got: now)
    },
    ServerCase("write/too-long", "a value of 513 octets is too long", .valueLimit, writes: true) {
      bench in
      let value = try await writable(bench)[0]
      try await bench.exchange(600)
      try bench.require(
        bench.mtu >= 516, orSkip: "ATT_MTU is \(bench.mtu), too small for such a write")
      try await bench.expectError(
        [], at: nil, to: [0x12] + octets(value.handle) + [UInt8](repeating: 0x55, count: 513))
      try await expect(value.octets, bench, value.handle, "after a refused write")
    },
    ServerCase(
      "write/configuration", "configurations belong to one client",
      "Each client has its own Client Characteristic Configuration, which is reset when its link "
        + "ends, unless there is a bond", "Vol 3, Part G, 3.3.3.3", writes: true
    ) { bench in
      // A configuration belongs to the value before it.
      var target: (handle: UInt16, value: KnownServer.Value)?
      for handle in bench.known.handles(of: 0x2902) where target == nil {
        target = bench.known.values.last { $0.handle < handle }.map { (handle, $0) }
      }
      let (handle, value) = try bench.require(target, orSkip: "no value can be notified")
      let wanted: [UInt8] = value.properties & 0x10 != 0 ? [1, 0] : [2, 0]
      let response = try await bench.write(wanted, to: handle)
      try bench.require(
        response == [0x13],
        orSkip: "the configuration cannot be written: \(bench.summary(response))")
      try await expect(wanted, bench, handle, "after it was written")
      bench.links.turn(to: 2)
      // A server that accepts only one client does not respond here.
      if let response = try await bench.tryAsking([0x0A] + octets(handle)) {
        try bench.check(
          response == [0x0B, 0, 0], "another client reads the configuration",
          expected: [0x0B, 0, 0], got: response)
      }
      await bench.links.close()
      bench.links.turn(to: 1)
      try await bench.reconnect()
      try await expect([0, 0], bench, handle, "on a new link")
    },
    ServerCase(
      "queue/echo", "a prepared write is echoed and can be cancelled",
      "A Prepare Write Response repeats the request; a cancelled write has no effect",
      "Vol 3, Part F, 3.4.6.1 to 3.4.6.3", writes: true
    ) { bench in
      let value = try await writable(bench)[0]
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
      let value = try await writable(bench, atLeast: 2)[0]
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
      let values = try await writable(bench, count: 2)
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
      guard response[0] == 0x01 else {
        throw bench.rule.broken(
          "a part far after the end of \(AttributeHandle(bad.handle)) was written",
          expected: "the error \(ErrorCode.invalidOffset)", got: response)
      }
      try bench.check(
        now == [0x0B] + good.octets,
        "\(AttributeHandle(good.handle)) was written although Execute Write failed",
        expected: [0x0B] + good.octets, got: now)
    },
    ServerCase(
      "queue/clients", "prepared parts belong to one client",
      "Each client has a prepare queue of its own", "Vol 3, Part F, 3.4.6.1", writes: true
    ) { bench in
      let value = try await writable(bench)[0]
      let wanted = other(value.octets)
      let response = try await bench.askIfSupported(
        [0x16] + octets(value.handle) + [0, 0] + wanted, called: "prepared writes")
      try bench.require(response[0] == 0x17, orSkip: "a prepared write is refused")
      bench.links.turn(to: 2)
      let executed: [UInt8]?
      do { executed = try await bench.tryAsking([0x18, 1]) } catch PeerError.unreachable {
        executed = nil
      }
      try bench.require(executed != nil, orSkip: "the server accepts only one client")
      bench.links.turn(to: 1)
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
      let value = try await writable(bench)[0]
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
