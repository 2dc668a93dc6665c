import AttoATT

extension ServerCase {
  private static let unknown = Rule(
    "An unknown handle is an Invalid Handle, and the error names it",
    "Vol 3, Part F, 3.4.1.1 and 3.4.4")

  private static func unknownHandle(_ bench: ServerBench) throws -> UInt16 {
    try bench.require(bench.known.unknownHandle, orSkip: "no handle is known to be free")
  }

  private static func readable(
    _ bench: ServerBench, atLeast count: Int = 0
  ) throws -> (handle: UInt16, octets: [UInt8]) {
    for value in bench.known.readable {
      if let octets = value.octets, octets.count >= count { return (value.handle, octets) }
    }
    throw CaseStop.skipped("no readable value has at least \(count) octets")
  }

  /// Reads one value eleven times in one request, and checks how the response is truncated.
  private static func checkTruncation(_ bench: ServerBench, _ handle: UInt16) async throws {
    let handles = [UInt16](repeating: handle, count: 11)
    let response: [UInt8]
    do {
      response = try await bench.askIfSupported([0x20] + handles.flatMap(octets))
    } catch let stop as CaseStop {
      guard case .broken(var finding) = stop.outcome, finding.rule == Rule.fits.text else {
        throw stop
      }
      finding.rule = bench.rule.text
      finding.section = bench.rule.section
      throw CaseStop(outcome: .broken(finding))
    }
    try bench.check(
      response[0] == 0x21, "it was refused: \(bench.summary(response))", got: response)
    var rest = response.dropFirst()
    while !rest.isEmpty {
      try bench.check(rest.count >= 2, "a length was truncated", got: response)
      rest = rest.dropFirst(2 + Int(number(rest)))
    }
  }

  /// Reads a value to its end with Read Blob, and checks the answers there.
  private static func checkEnd(_ bench: ServerBench, of handle: UInt16) async throws {
    var count = 0
    while true {
      let part = try await bench.askIfSupported([0x0C] + octets(handle) + octets(UInt16(count)))
      guard part[0] == 0x0D else {
        if count > 0, count % 22 == 0, part[4] == 0x07 || part[4] == 0x0B { break }
        throw bench.rule.broken(
          "the part at \(count) was refused: \(bench.summary(part))", got: part)
      }
      count += part.count - 1
      guard part.count == 23, count < 600 else { break }
    }
    try Rule.valueLimit.check(
      count <= 512, "the value at \(AttributeHandle(handle)) has at least \(count)")
    let end = try await bench.ask([0x0C] + octets(handle) + octets(UInt16(count)))
    try bench.check(
      end == [0x0D] || (count <= 22 && end.last == 0x0B),
      "the part at the end, \(count), was answered with \(bench.summary(end))", expected: [0x0D],
      got: end)
    try await bench.expectError(
      [.invalidOffset], at: handle, to: [0x0C] + octets(handle) + octets(UInt16(count + 1)))
  }

  /// Reads two different values in both orders.
  private static func checkOrder(
    _ bench: ServerBench, _ opcode: UInt8, _ join: ([UInt8], [UInt8]) -> [UInt8]
  ) async throws {
    var found: [(handle: UInt16, octets: [UInt8])] = []
    for value in bench.known.readable {
      guard let octets = value.octets, 1...8 ~= octets.count, octets != found.first?.octets,
        try await bench.read(value.handle) == [0x0B] + octets
      else { continue }
      found.append((value.handle, octets))
      if found.count == 2 { break }
    }
    guard found.count == 2 else { return }
    _ = try await bench.askIfSupported([opcode] + octets(found[0].handle) + octets(found[1].handle))
    for (one, other) in [(found[0], found[1]), (found[1], found[0])] {
      try await bench.expect(
        [opcode + 1] + join(one.octets, other.octets),
        to: [opcode] + octets(one.handle) + octets(other.handle),
        "\(AttributeHandle(one.handle)) and \(AttributeHandle(other.handle)) were answered with")
    }
  }

  /// Reading. Vol 3, Part F, 3.4.4.
  static let reading: [ServerCase] = [
    ServerCase("read/unknown-handle", "unknown handles", unknown) { bench in
      _ = try unknownHandle(bench)
      for handle in bench.known.unknownHandles {
        try await bench.expectError([.invalidHandle], at: handle, to: [0x0A] + octets(handle))
        try await bench.expectError(
          [.invalidHandle, .requestNotSupported], at: handle, to: [0x0C] + octets(handle) + [0, 0])
      }
    },
    ServerCase(
      "read/declarations", "declarations are readable",
      "Declarations are readable without security and match the results of discovery",
      "Vol 3, Part G, 3.1 and 3.3.1"
    ) { bench in
      for group in bench.known.groups.prefix(50) {
        try await bench.expect(
          [0x0B] + group.uuid, to: [0x0A] + octets(group.start),
          "the service declaration at \(AttributeHandle(group.start)) is")
      }
      for value in bench.known.values.prefix(50) {
        try await bench.expect(
          [0x0B, value.properties] + octets(value.handle) + value.uuid,
          to: [0x0A] + octets(value.declaration),
          "the declaration at \(AttributeHandle(value.declaration)) is")
      }
    },
    ServerCase(
      "read/same", "Read and Read By Type return the same value",
      "A value is the same in all kinds of responses", "Vol 3, Part F, 3.4.4"
    ) { bench in
      for value in bench.known.readable.prefix(20) {
        let handle = octets(value.handle)
        let again = try await bench.read(value.handle)
        // Skip values that change by themselves.
        guard let octets = value.octets, Array(again.dropFirst()) == octets else { continue }
        let typed = try await bench.ask([0x08] + handle + handle + value.uuid)
        let wanted = [0x09, UInt8(min(octets.count, 19) + 2)] + handle + octets.prefix(19)
        guard try await bench.read(value.handle) == again else { continue }
        try bench.check(
          typed == wanted, "Read By Type returned \(bench.summary(typed))", expected: wanted,
          got: typed)
      }
    },
    ServerCase(
      "read/blob-end", "Read Blob at the end of a value and after it",
      "An offset at the end of a value returns no octets, one after it is an Invalid Offset; a "
        + "value that fits a response may be Attribute Not Long", "Vol 3, Part F, 3.4.4.5"
    ) { bench in
      let long = bench.known.readable.first { $0.octets?.count == 22 }
      if let long { try await checkEnd(bench, of: long.handle) }
      let short = try readable(bench)
      guard short.octets.count < 22 else { return }
      try await bench.expectError(
        [.invalidOffset, .attributeNotLong, .requestNotSupported], at: short.handle,
        to: [0x0C] + octets(short.handle) + [0xFF, 0xFF])
      let end = try await bench.askIfSupported(
        [0x0C] + octets(short.handle) + octets(UInt16(short.octets.count)))
      try bench.check(
        end == [0x0D] || end.last == 0x0B && end[0] == 0x01,
        "the end of a short value was answered with \(bench.summary(end))", expected: [0x0D],
        got: end)
    },
    ServerCase(
      "read/blob", "a value in parts",
      "A Read Response has the first ATT_MTU - 1 octets of a value, and a Read Blob Response those from "
        + "its offset on; a value that fits a response may be Attribute Not Long",
      "Vol 3, Part F, 3.4.4.4 to 3.4.4.6"
    ) { bench in
      let all = bench.known.readable
      let long = all.filter { $0.octets?.count ?? 0 > 19 }.prefix(3)
      let short = all.filter { 2...19 ~= $0.octets?.count ?? 0 }.prefix(3)
      try bench.require(!long.isEmpty || !short.isEmpty, orSkip: "no readable value has 2 octets")
      for value in long + short {
        let whole = try await wholeValue(bench, value.handle)
        let read = try await bench.read(value.handle)
        guard !whole.isEmpty, read[0] == 0x0B else { continue }
        // Not of values that change by themselves.
        guard try await wholeValue(bench, value.handle) == whole,
          try await bench.read(value.handle) == read
        else { continue }
        let room = bench.mtu - 1
        try bench.check(
          read == [0x0B] + whole.prefix(room), "Read returned \(bench.summary(read))",
          expected: [0x0B] + whole.prefix(room), got: read)
        for offset in Set([0, 1, room - 1, room, room + 1, whole.count - 1]).sorted()
        where offset < whole.count {
          let part = try await bench.ask([0x0C] + octets(value.handle) + octets(UInt16(offset)))
          if part[0] == 0x01, part[4] == 0x0B, whole.count <= room { continue }
          let wanted = [0x0D] + whole.dropFirst(offset).prefix(room)
          try bench.check(
            part == wanted, "Read Blob at \(offset) returned \(bench.summary(part))",
            expected: wanted,
            got: part)
        }
      }
    },
    ServerCase(
      "read/multiple", "several values at once",
      "Read Multiple joins the values in the order of the request and truncates them at ATT_MTU - 1",
      "Vol 3, Part F, 3.4.4.7 and 3.4.4.8"
    ) { bench in
      let value = try readable(bench, atLeast: 1)
      let handles = [UInt16](repeating: value.handle, count: 10)
      let response = try await bench.askIfSupported([0x0E] + handles.flatMap(octets))
      try bench.check(
        response[0] == 0x0F, "it was refused: \(bench.summary(response))", got: response)
      let again = try await bench.read(value.handle)
      guard Array(again.dropFirst()) == value.octets else { return }
      // A value that was truncated in the Read Response is longer here.
      let joined = value.octets.count < 22 ? handles.flatMap { _ in value.octets } : value.octets
      let wanted = [0x0F] + joined.prefix(22)
      try bench.check(
        response == wanted,
        "ten times \(EncodedText.hex(value.octets)) returned \(response.count - 1) octets",
        expected: wanted, got: response)
      try await checkOrder(bench, 0x0E) { $0 + $1 }
    },
    ServerCase("read/multiple-unknown", "several values, one with an unknown handle", unknown) {
      bench in
      let value = try readable(bench)
      let handle = try unknownHandle(bench)
      for opcode: UInt8 in [0x0E, 0x20] {
        try await bench.expectError(
          [.invalidHandle, .requestNotSupported], at: handle,
          to: [opcode] + octets(value.handle) + octets(handle))
      }
    },
    ServerCase(
      "read/multiple-beyond", "values that do not fit are checked too",
      "All values of a Read Multiple are checked, even if they are truncated",
      "Vol 3, Part F, 3.4.4.7"
    ) { bench in
      let value = try readable(bench, atLeast: 3)
      let handle = try unknownHandle(bench)
      let handles = [UInt16](repeating: value.handle, count: 9) + [handle]
      try await bench.expectError(
        [.invalidHandle, .requestNotSupported], at: handle, to: [0x0E] + handles.flatMap(octets))
    },
    ServerCase(
      "read/multiple-variable", "several values with their lengths",
      "Read Multiple Variable sends complete lengths, and truncates the last value at ATT_MTU",
      "Vol 3, Part F, 3.4.4.11 and 3.4.4.12"
    ) { bench in
      try await checkOrder(bench, 0x20) {
        octets(UInt16($0.count)) + $0 + octets(UInt16($1.count)) + $1
      }
      let value = try readable(bench)
      let response = try await bench.askIfSupported(
        [0x20] + octets(value.handle) + octets(value.handle))
      try bench.check(
        response[0] == 0x21, "it was refused: \(bench.summary(response))", got: response)
      guard value.octets.count < 8 else { return }
      let again = try await bench.read(value.handle)
      guard Array(again.dropFirst()) == value.octets else { return }
      let entry = octets(UInt16(value.octets.count)) + value.octets
      try bench.check(
        response == [0x21] + entry + entry, "it was answered with \(bench.summary(response))",
        expected: [0x21] + entry + entry, got: response)
    },
    ServerCase(
      "read/multiple-variable-cut", "more values than fit a response",
      "A Read Multiple Variable Response is at most ATT_MTU long, and truncates a value, never "
        + "a length", "Vol 3, Part F, 3.4.4.12"
    ) { bench in
      // A mistake in counting may show only with some lengths.
      var lengths: Set<Int> = []
      for value in bench.known.readable {
        guard let count = value.octets?.count, count >= 1, lengths.count < 8,
          lengths.insert(count).inserted
        else { continue }
        try await checkTruncation(bench, value.handle)
      }
      try bench.require(!lengths.isEmpty, orSkip: "all readable values are empty")
    },
    ServerCase(
      "read/by-type-prefix", "an unreadable value ends the list before it",
      "An unreadable value ends the list of Read By Type, and is an error only as the first",
      "Vol 3, Part F, 3.4.4.1"
    ) { bench in
      for value in bench.known.values where value.isRefused && value.uuid.count == 2 {
        let first = bench.known.values.first {
          $0.uuid == value.uuid && $0.handle < value.handle && $0.octets != nil
        }
        guard let first else { continue }
        let response = try await bench.ask(
          [0x08] + octets(first.handle) + octets(value.handle) + value.uuid)
        try bench.check(
          response[0] == 0x09,
          "the readable value at \(AttributeHandle(first.handle)) was not sent: "
            + bench.summary(response), got: response)
        return
      }
      throw CaseStop.skipped("no unreadable value follows a readable one with the same UUID")
    },
  ]
}
