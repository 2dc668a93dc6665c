import ATT

extension ServerCase {
  private static let range = Rule(
    "A range that begins at 0x0000, or behind its end, is an Invalid Handle, named by its start",
    "Vol 3, Part F, 3.4.3.1, 3.4.3.3, 3.4.4.1 and 3.4.4.9")

  private static func ranges(_ name: String, _ opcode: UInt8, _ rest: [UInt8]) -> ServerCase {
    ServerCase("range/" + name, "ranges that are none") { bench throws(CaseStop) in
      for (start, end) in [(UInt16(0), UInt16(0xFFFF)), (0, 0), (2, 1), (0xFFFF, 0xFFFE)] {
        try await bench.expectError(
          [.invalidHandle], at: start, to: [opcode] + octets(start) + octets(end) + rest, range)
      }
    }
  }

  /// Searches for attributes. Vol 3, Part F, 3.4.3 and 3.4.4.
  static let searching: [ServerCase] = [
    ranges("find-information", 0x04, []),
    ranges("find-by-type-value", 0x06, [0x00, 0x28, 0x00, 0x18]),
    ranges("read-by-type", 0x08, [0x03, 0x28]),
    ranges("read-by-group-type", 0x10, [0x00, 0x28]),
    ServerCase("search/group-type", "grouping by what does not group") { bench throws(CaseStop) in
      let rule = Rule(
        "Read By Group Type knows service declarations alone: all else is Unsupported Group Type",
        "Vol 3, Part F, 3.4.4.9")
      for type in [[0x03, 0x28], [0x02, 0x28], [UInt8](repeating: 0xAB, count: 16)] as [[UInt8]] {
        try await bench.expectError(
          [.unsupportedGroupType], at: 1, to: [0x10, 1, 0, 0xFF, 0xFF] + type, rule)
      }
    },
    ServerCase("search/uuid-of-128-bits", "a short UUID in its long form finds the same") {
      bench throws(CaseStop) in
      let rule = Rule(
        "UUIDs are compared in 128 bits, whatever their length on the way", "Vol 3, Part F, 3.2.1")
      let base: [UInt8] = [
        0xFB, 0x34, 0x9B, 0x5F, 0x80, 0x00, 0x00, 0x80, 0x00, 0x10, 0x00, 0x00,
      ]
      let short = try await bench.ask([0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28])
      let long = try await bench.ask(
        [0x10, 1, 0, 0xFF, 0xFF] + base + [0x00, 0x28, 0x00, 0x00])
      guard short == long else {
        throw rule.broken(
          "the long form brought another response", expected: EncodedText.hex(short), got: long)
      }
    },
    ServerCase("search/services-by-uuid", "each primary service is found by its UUID") {
      bench throws(CaseStop) in
      let rule = Rule(
        "Find By Type Value finds what Read By Group Type does, with the same ends",
        "Vol 3, Part F, 3.4.3.3")
      for group in bench.known.groups.filter(\.isPrimary).prefix(40) {
        let request =
          [0x06] + octets(group.start) + octets(group.start) + [0x00, 0x28] + group.uuid
        guard request.count <= bench.mtu else { continue }
        let response = try await bench.ask(request)
        let wanted = [0x07] + octets(group.start) + octets(group.end)
        guard response == wanted else {
          throw rule.broken(
            "\(bench.name(request)) was answered with \(bench.summary(response))",
            expected: EncodedText.hex(wanted), got: response)
        }
      }
      try await bench.expectError(
        [.attributeNotFound], at: 1, to: [0x06, 1, 0, 0xFF, 0xFF, 0x00, 0x28, 0x99, 0xEE], rule)
    },
    ServerCase("search/value-without-permission", "a search over values that cannot be read") {
      bench throws(CaseStop) in
      let rule = Rule(
        "Find By Type Value passes over what cannot be read, and is answered",
        "Vol 3, Part F, 3.4.3.3")
      let hidden = bench.known.values.first {
        if case .error = $0.reading { $0.uuid.count == 2 } else { false }
      }
      guard let hidden else { throw .skipped("no value with a short UUID refuses to be read") }
      try await bench.expectError(
        [.attributeNotFound], at: hidden.handle,
        to: [0x06] + octets(hidden.handle) + octets(hidden.handle) + hidden.uuid + [0x00], rule)
    },
    ServerCase("search/declarations", "declarations point at what is there") {
      bench throws(CaseStop) in
      let rule = Rule(
        "A characteristic's value has the type and the place that its declaration says, in the "
          + "same service, behind the declaration", "Vol 3, Part G, 3.3.1 and 3.3.2")
      for value in bench.known.values {
        let attribute = bench.known.attributes.first { $0.handle == value.handle }
        let group = bench.known.groups.first {
          $0.start < value.declaration && value.declaration <= $0.end
        }
        guard value.handle > value.declaration, attribute?.type == value.uuid else {
          throw rule.broken(
            "the declaration at \(AttributeHandle(value.declaration)) says "
              + "\(AttributeHandle(value.handle)), where "
              + (attribute == nil ? "nothing is" : "another type is"))
        }
        guard let group, value.handle <= group.end else {
          throw rule.broken(
            "the value at \(AttributeHandle(value.handle)) is in no service of its declaration")
        }
      }
    },
    ServerCase("search/includes", "includes point at services") { bench throws(CaseStop) in
      let rule = Rule(
        "An include names the handles of a service, and its UUID only if that has 16 bits",
        "Vol 3, Part G, 3.2")
      guard !bench.known.includes.isEmpty else { throw .skipped("no service includes another") }
      for (handle, value) in bench.known.includes {
        let group = bench.known.groups.first { $0.start == number(value) }
        guard let group, value.count >= 4, group.end == number(value[2...]),
          Array(value[4...]) == (group.uuid.count == 2 ? group.uuid : [])
        else {
          throw rule.broken(
            "the include at \(AttributeHandle(handle)) holds \(EncodedText.hex(value))",
            expected: group.map {
              EncodedText.hex(
                octets($0.start) + octets($0.end) + ($0.uuid.count == 2 ? $0.uuid : []))
            }, got: value)
        }
      }
    },
    ServerCase("search/many-matches", "a UUID that many services have") {
      bench throws(CaseStop) in
      let rule = Rule(
        "Find By Type Value brings whole pairs of handles, as many as fit, in order",
        "Vol 3, Part F, 3.4.3.4")
      let primary = bench.known.groups.filter(\.isPrimary)
      let repeated = primary.first { group in
        group.uuid.count == 2 && primary.count { $0.uuid == group.uuid } > 1
      }
      guard let repeated else { throw .skipped("no two primary services have one short UUID") }
      let same = primary.filter { $0.uuid == repeated.uuid }
      let pairs: [[UInt8]] = same.prefix((bench.mtu - 1) / 4).map {
        octets($0.start) + octets($0.end)
      }
      let wanted: [UInt8] = [0x07] + pairs.joined()
      let response = try await bench.ask([0x06, 1, 0, 0xFF, 0xFF, 0x00, 0x28] + repeated.uuid)
      guard response.count > 1, wanted.starts(with: response), (response.count - 1) % 4 == 0 else {
        throw rule.broken(
          "\(same.count) services were answered with \(bench.summary(response))",
          expected: EncodedText.hex(wanted), got: response)
      }
    },
  ]
}
