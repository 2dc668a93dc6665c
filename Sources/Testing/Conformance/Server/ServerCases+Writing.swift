import AttoATT

extension ServerCase {
  typealias Target = (handle: UInt16, octets: [UInt8])

  /// Finds values that fit one PDU, accept their current value, and keep it: `count` or more, up to
  /// `limit`.
  static func writable(
    _ bench: ServerBench, count: Int = 1, upTo limit: Int? = nil, atLeast length: Int = 1
  ) async throws -> [Target] {
    var found: [Target] = []
    // A feature of the client stays, once it is enabled.
    for value in bench.known.readable where value.isWritable && value.uuid != octets(0x2B29) {
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

  /// Finds writable values that take another value and then their own again.
  static func changeable(
    _ bench: ServerBench, count: Int = 1, upTo limit: Int? = nil, atLeast length: Int = 1
  ) async throws -> [Target] {
    var found: [Target] = []
    for value in try await writable(bench, upTo: 16, atLeast: length) {
      guard try await bench.write(other(value.octets), to: value.handle) == [0x13] else { continue }
      let changed = try await bench.read(value.handle)
      guard try await bench.write(value.octets, to: value.handle) == [0x13],
        changed == [0x0B] + other(value.octets),
        try await bench.read(value.handle) == [0x0B] + value.octets
      else { continue }
      found.append(value)
      if found.count == limit ?? count { return found }
    }
    guard found.count < count else { return found }
    throw CaseStop.skipped(
      "fewer than \(count) values of at least \(length) octets take another value")
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
      // A server may judge what is written to one of its values, but hardly all of them.
      var lost: (Target, response: [UInt8])?
      var isKept = false
      for value in bench.known.readable.filter(\.isWritable).prefix(8) {
        guard let octets = value.octets, 1...18 ~= octets.count,
          try await bench.read(value.handle) == [0x0B] + octets,
          try await bench.write(octets, to: value.handle) == [0x13]
        else { continue }
        let now = try await bench.read(value.handle)
        // Nothing but the write has cut it.
        let isCut = now.count <= octets.count && octets.starts(with: now.dropFirst())
        if now == [0x0B] + octets { isKept = true } else { lost = ((value.handle, octets), now) }
        if isCut {
          isKept = false
          break
        }
      }
      if isKept { return }
      let (value, now) = try bench.require(lost, orSkip: "no value accepts its own one")
      throw bench.rule.broken(
        "\(AttributeHandle(value.handle)) has another value after its own one was written",
        expected: EncodedText.hex([0x0B] + value.octets), got: now)
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
      let configurations = bench.known.configurations
      let (value, handle) = try bench.require(
        configurations.first, orSkip: "no value can be notified")
      let wanted: [UInt8] = value.properties & 0x10 != 0 ? [1, 0] : [2, 0]
      let response = try await bench.write(wanted, to: handle)
      try bench.require(
        response == [0x13],
        orSkip: "the configuration cannot be written: \(bench.summary(response))")
      try await expect(wanted, bench, handle, "after it was written")
      for (_, other) in configurations.dropFirst().prefix(20) {
        try await expect(
          [0, 0], bench, other, "after the one at \(AttributeHandle(handle)) was written")
      }
      let other = try await bench.asSecondClient { try await bench.read(handle) }
      if let other {
        try bench.check(
          other == [0x0B, 0, 0], "another client reads the configuration",
          expected: [0x0B, 0, 0], got: other)
      }
      await bench.endSecondClient()
      try await bench.reconnect()
      try await expect([0, 0], bench, handle, "on a new link")
      try bench.require(other != nil, orSkip: oneClient)
    },
    ServerCase(
      "write/configuration-length", "a configuration of three octets",
      "A Client Characteristic Configuration has two octets: longer ones are refused",
      "Vol 3, Part G, 3.3.3.3, and Part F, 3.4.5.1", writes: true
    ) { bench in
      let (_, handle) = try bench.require(
        bench.known.configurations.first, orSkip: "no value can be notified")
      try await bench.expectError([], at: handle, to: [0x12] + octets(handle) + [0, 0, 0])
    },
    ServerCase(
      "write/others", "a write changes one value only",
      "A write changes the value of its handle", "Vol 3, Part F, 3.4.5.1", writes: true
    ) { bench in
      let one = try await changeable(bench)[0]
      let others = bench.known.readable.filter {
        $0.isWritable && $0.handle != one.handle && $0.uuid != octets(0x2B29)
      }
      try bench.require(!others.isEmpty, orSkip: "only one value is writable")
      for handle in others.prefix(8).map(\.handle) {
        let before = try await bench.read(handle)
        _ = try await bench.write(other(one.octets), to: one.handle)
        let after = try await bench.read(handle)
        _ = try await bench.write(one.octets, to: one.handle)
        // What is written to one value may have an effect on another, but not become its value.
        guard before != after, after == [0x0B] + other(one.octets) else { continue }
        _ = try await bench.write(Array(before.dropFirst()), to: handle)
        throw bench.rule.broken(
          "a write to \(AttributeHandle(one.handle)) has changed \(AttributeHandle(handle))",
          expected: EncodedText.hex(before), got: after)
      }
    },
    ServerCase(
      "write/length", "shorter and longer values",
      "A write replaces a value of variable length, or the beginning of one of fixed length; a value "
        + "that is too long is refused, not cut", "Vol 3, Part F, 3.4.5.1", writes: true
    ) { bench in
      for value in try await changeable(bench, upTo: 4, atLeast: 2) {
        for new in [[value.octets[0] ^ 0x01], value.octets + [value.octets[0]]] {
          guard try await bench.write(new, to: value.handle) == [0x13] else { continue }
          let now = try await bench.read(value.handle)
          _ = try await bench.write(value.octets, to: value.handle)
          // An application may correct what is written to its values, but not only in their lengths.
          let isCut = now.count - 1 < new.count && new.starts(with: now.dropFirst())
          let isPrefix = now == [0x0B] + new + value.octets.dropFirst(new.count)
          let isLonger = now.count - 1 > new.count && now.dropFirst().starts(with: new)
          try bench.check(
            !isCut && (isPrefix || !isLonger),
            "\(new.count) octets were written to \(AttributeHandle(value.handle)), which has "
              + "\(now.count - 1) then", expected: [0x0B] + new, got: now)
        }
      }
    },
    ServerCase(
      "write/command", "a command writes a value",
      "A Write Command writes the value, and is not answered", "Vol 3, Part F, 3.4.5.3",
      writes: true
    ) { bench in
      let values = try await changeable(bench, upTo: 16).filter { value in
        bench.known.values.contains { $0.handle == value.handle && $0.properties & 0x04 != 0 }
      }
      let value = try bench.require(
        values.first, orSkip: "no value can be read, and written with and without response")
      try await bench.expectQuiet(after: [[0x52] + octets(value.handle) + other(value.octets)])
      let now = try await bench.read(value.handle)
      _ = try await bench.write(value.octets, to: value.handle)
      try bench.check(
        now == [0x0B] + other(value.octets),
        "a Write Command to \(AttributeHandle(value.handle)) has no effect",
        expected: [0x0B] + other(value.octets), got: now)
    },
    ServerCase(
      "write/signed", "a write with a wrong signature",
      "A Signed Write Command with a wrong signature is ignored", "Vol 3, Part F, 3.4.5.4",
      writes: true
    ) { bench in
      for value in try await changeable(bench, upTo: 2) where value.octets.count <= 8 {
        try await bench.expectQuiet(after: [
          [0xD2] + octets(value.handle) + other(value.octets) + [UInt8](repeating: 0, count: 12)
        ])
        let now = try await bench.read(value.handle)
        if now != [0x0B] + value.octets {
          _ = try await bench.write(value.octets, to: value.handle)
        }
        try bench.check(
          now == [0x0B] + value.octets, "\(AttributeHandle(value.handle)) was written",
          expected: [0x0B] + value.octets, got: now)
      }
    },
  ]
}
