import ATT

extension ServerCase {
  /// Values that take what they hold, and hold it afterwards: in one PDU each, and whole.
  private static func writable(
    _ bench: ServerBench, count: Int = 1, atLeast length: Int = 1
  ) async throws(CaseStop) -> [(handle: UInt16, octets: [UInt8])] {
    var found: [(handle: UInt16, octets: [UInt8])] = []
    for value in bench.known.writable {
      guard let octets = value.octets, length <= octets.count, octets.count <= 18 else { continue }
      let handle = Conformance.octets(value.handle)
      guard try await bench.ask([0x0A] + handle) == [0x0B] + octets,
        try await bench.ask([0x12] + handle + octets) == [0x13],
        try await bench.ask([0x0A] + handle) == [0x0B] + octets
      else { continue }
      found.append((value.handle, octets))
      if found.count == count { return found }
    }
    throw .skipped(
      "fewer than \(count) values of \(length) octets can be read and written in one PDU")
  }

  private static func write(
    _ bench: ServerBench, _ handle: UInt16, _ value: [UInt8]
  ) async throws(CaseStop) {
    let response = try await bench.ask([0x12] + octets(handle) + value)
    guard response == [0x13] else {
      throw .skipped(
        "writing what is there to \(AttributeHandle(handle)) is refused: "
          + bench.summary(response))
    }
  }

  private static func expect(
    _ value: [UInt8], _ bench: ServerBench, _ handle: UInt16, _ rule: Rule, _ when: String
  ) async throws(CaseStop) {
    let response = try await bench.ask([0x0A] + octets(handle))
    guard response == [0x0B] + value else {
      throw rule.broken(
        "\(AttributeHandle(handle)) holds something else \(when)",
        expected: EncodedText.hex([0x0B] + value), got: response)
    }
  }

  /// A value of the same length that differs.
  private static func other(_ value: [UInt8]) -> [UInt8] {
    var other = value
    other[0] ^= 0x01
    return other
  }

  /// Writing, for servers whose owner allows it. Values are left as they were found.
  static let writing: [ServerCase] = [
    ServerCase("write/same", "what is written can be read", writes: true) {
      bench throws(CaseStop) in
      let rule = Rule("A value that was written is the value", "Vol 3, Part F, 3.4.5.1")
      let value = try await writable(bench)[0]
      try await write(bench, value.handle, value.octets)
      try await expect(value.octets, bench, value.handle, rule, "than was written")
    },
    ServerCase("write/too-long", "513 octets are too many for any value", writes: true) {
      bench throws(CaseStop) in
      let rule = Rule("A value has at most 512 octets", "Vol 3, Part F, 3.2.9")
      let value = try await writable(bench)[0]
      try await bench.exchange(600)
      guard bench.mtu >= 516 else {
        throw .skipped("ATT_MTU is \(bench.mtu), too small for such a write")
      }
      try await bench.expectError(
        [], at: nil,
        to: [0x12] + octets(value.handle) + [UInt8](repeating: 0x55, count: 513), rule)
      try await expect(value.octets, bench, value.handle, rule, "after a write that was refused")
    },
    ServerCase("write/configuration", "a configuration is of one client", writes: true) {
      bench throws(CaseStop) in
      let rule = Rule(
        "Each client has a Client Characteristic Configuration of its own, which is gone with its "
          + "link unless there is a bond", "Vol 3, Part G, 3.3.3.3")
      let handles = bench.known.handles(of: 0x2902)
      let handle = handles.first { bench.known.value(ofDescriptor: $0) != nil }
      guard let handle else { throw .skipped("nothing can be notified") }
      let notifies = bench.known.value(ofDescriptor: handle).map { $0.properties & 0x10 != 0 }
      let wanted: [UInt8] = notifies == true ? [1, 0] : [2, 0]
      let response = try await bench.ask([0x12] + octets(handle) + wanted)
      guard response == [0x13] else {
        throw .skipped("it cannot be written: \(bench.summary(response))")
      }
      try await expect(wanted, bench, handle, rule, "than was written")
      bench.turn(to: 2)
      // A server that serves one client at a time shows nothing here.
      if let response = try await bench.tryAsking([0x0A] + octets(handle)),
        response != [0x0B, 0, 0]
      {
        throw rule.broken(
          "another client finds it configured", expected: "0b 00 00", got: response)
      }
      await bench.wire.close()
      bench.turn(to: 1)
      try await bench.reconnect()
      try await expect([0, 0], bench, handle, rule, "on a new link")
    },
    ServerCase("queue/echo", "a prepared write is echoed, and cancelled", writes: true) {
      bench throws(CaseStop) in
      let rule = Rule(
        "A Prepare Write Response repeats the request; what is cancelled is not written",
        "Vol 3, Part F, 3.4.6.1 to 3.4.6.3")
      let value = try await writable(bench)[0]
      let rest = octets(value.handle) + [0, 0] + other(value.octets)
      let response = try await bench.ask([0x16] + rest)
      if response[0] == 0x01, response[4] == 0x06 {
        throw .skipped("the server does not support prepared writes")
      }
      guard response == [0x17] + rest else {
        throw rule.broken(
          "the response was \(bench.summary(response))", expected: EncodedText.hex([0x17] + rest),
          got: response)
      }
      _ = try await bench.ask([0x18, 0])
      try await expect(value.octets, bench, value.handle, rule, "after the cancelled write")
    },
    ServerCase("queue/offset", "a prepared part goes where its offset says", writes: true) {
      bench throws(CaseStop) in
      let rule = Rule(
        "A prepared part is written at its offset into the value",
        "Vol 3, Part F, 3.4.6.1 and 3.4.6.3")
      let values = try await writable(bench, count: 1, atLeast: 2)
      let value = values[0]
      // The end of what is there, at its place: nothing changes, unless the offset is ignored.
      let response = try await bench.ask(
        [0x16] + octets(value.handle) + [1, 0] + value.octets.dropFirst())
      guard response[0] == 0x17 else {
        throw .skipped("a prepared write is refused: \(bench.summary(response))")
      }
      let executed = try await bench.ask([0x18, 1])
      let now = try await bench.ask([0x0A] + octets(value.handle))
      _ = try await bench.ask([0x12] + octets(value.handle) + value.octets)
      guard executed == [0x19], now == [0x0B] + value.octets else {
        throw rule.broken(
          "after a part at offset 1 the value is another",
          expected: EncodedText.hex([0x0B] + value.octets), got: now)
      }
    },
    ServerCase("queue/all-or-nothing", "one part that cannot be written stops all", writes: true) {
      bench throws(CaseStop) in
      let rule = Rule(
        "Prepared writes are written all together or not at all", "Vol 3, Part F, 3.4.6.3")
      let values = try await writable(bench, count: 2)
      let good = [0x16] + octets(values[0].handle) + [0, 0] + other(values[0].octets)
      let bad = [0x16] + octets(values[1].handle) + [0xFF, 0x01, 0x55]
      let first = try await bench.ask(good)
      guard first[0] == 0x17 else { throw .skipped("a prepared write is refused") }
      _ = try await bench.ask(bad)
      let response = try await bench.ask([0x18, 1])
      let now = try await bench.ask([0x0A] + octets(values[0].handle))
      // As it was, before anything is judged.
      _ = try await bench.ask([0x12] + octets(values[0].handle) + values[0].octets)
      guard response[0] == 0x01 else {
        // A server may have taken the part far behind the end: then nothing is shown.
        throw rule.broken(
          "a part far behind the end of \(AttributeHandle(values[1].handle)) was written",
          expected: "the error \(ErrorCode.invalidOffset)", got: response)
      }
      guard now == [0x0B] + values[0].octets else {
        throw rule.broken(
          "\(AttributeHandle(values[0].handle)) was written although the whole failed",
          expected: EncodedText.hex([0x0B] + values[0].octets), got: now)
      }
    },
    ServerCase("queue/full", "a queue that is filled and filled", writes: true) {
      bench throws(CaseStop) in
      let rule = Rule(
        "A full queue is told by Prepare Queue Full; what was queued stays",
        "Vol 3, Part F, 3.4.6.1")
      let value = try await writable(bench)[0]
      let prepare = [0x16] + octets(value.handle) + [0, 0] + value.octets
      for _ in 0..<600 {
        let response = try await bench.ask(prepare)
        if response[0] == 0x17 { continue }
        guard response[4] == 0x09 || response[4] == 0x11 || response[4] == 0x06 else {
          throw rule.broken("it was refused otherwise: \(bench.summary(response))", got: response)
        }
        break
      }
      _ = try await bench.ask([0x18, 0])
    },
  ]
}
