import AttoATT

extension ServerCase {
  private static func ranges(_ name: String, _ opcode: UInt8, _ rest: [UInt8]) -> ServerCase {
    ServerCase(
      "range/" + name, "invalid ranges",
      "A range that starts at 0x0000 or after its end is an Invalid Handle, with its start",
      "Vol 3, Part F, 3.4.3.1, 3.4.3.3, 3.4.4.1 and 3.4.4.9"
    ) { bench in
      for (start, end) in [(UInt16(0), UInt16(0xFFFF)), (0, 0), (2, 1), (0xFFFF, 0xFFFE)] {
        try await bench.expectError(
          [.invalidHandle], at: start, to: [opcode] + octets(start) + octets(end) + rest)
      }
    }
  }

  /// Searches for attributes. Vol 3, Part F, 3.4.3 and 3.4.4.
  static let searching: [ServerCase] = [
    ranges("find-information", 0x04, []),
    ranges("find-by-type-value", 0x06, [0x00, 0x28, 0x00, 0x18]),
    ranges("read-by-type", 0x08, [0x03, 0x28]),
    ranges("read-by-group-type", 0x10, [0x00, 0x28]),
    ServerCase(
      "search/group-type", "grouping by types that are not grouping types",
      "Read By Group Type supports only service declarations: others are Unsupported Group Type",
      "Vol 3, Part F, 3.4.4.9"
    ) { bench in
      for type in [[0x03, 0x28], [0x02, 0x28], [UInt8](repeating: 0xAB, count: 16)] as [[UInt8]] {
        try await bench.expectError(
          [.unsupportedGroupType], at: 1, to: [0x10, 1, 0, 0xFF, 0xFF] + type)
      }
    },
    ServerCase(
      "search/uuid-of-128-bits", "a short UUID in its long form has the same results",
      "UUIDs are compared as 128 bits, in either form", "Vol 3, Part F, 3.2.1"
    ) { bench in
      let base: [UInt8] = [0xFB, 0x34, 0x9B, 0x5F, 0x80, 0x00, 0x00, 0x80, 0x00, 0x10, 0x00, 0x00]
      let short = try await bench.ask([0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28])
      let long = try await bench.ask([0x10, 1, 0, 0xFF, 0xFF] + base + [0x00, 0x28, 0x00, 0x00])
      try bench.check(
        short == long, "the long form has another response", expected: short, got: long)
      let typed = try await bench.ask([0x08, 1, 0, 0xFF, 0xFF, 0x03, 0x28])
      let again = try await bench.ask([0x08, 1, 0, 0xFF, 0xFF] + base + [0x03, 0x28, 0x00, 0x00])
      try bench.check(
        typed == again, "the long form has another response", expected: typed, got: again)
    },
    ServerCase(
      "search/services-by-uuid", "all primary services are found by their UUIDs",
      "Find By Type Value finds the services of Read By Group Type by their whole UUIDs, and their ends "
        + "have the same attributes",
      "Vol 3, Part F, 3.4.3.3 and 3.4.3.4, and Part G, 3.1"
    ) { bench in
      // A service ends before the next declaration or at the last handle: both ends of one answer may
      // differ, as long as no attribute lies between them.
      for group in bench.known.groups.filter(\.isPrimary).prefix(40) {
        let request =
          [0x06] + octets(group.start) + octets(group.start) + [0x00, 0x28] + group.uuid
        guard request.count <= bench.mtu else { continue }
        let response = try await bench.ask(request)
        try bench.check(
          response.count == 5 && response.starts(with: [0x07] + octets(group.start))
            && bench.known.isSameEnd(number(response[3...]), group.end),
          "\(bench.name(request)) was answered with \(bench.summary(response))",
          expected: [0x07] + octets(group.start) + octets(group.end), got: response)
        for other in [group.uuid.dropLast(), group.uuid + [0]] where request.count < bench.mtu {
          try await bench.expectError(
            [.attributeNotFound], at: group.start, to: request.prefix(7) + other)
        }
      }
      try await bench.expectError(
        [.attributeNotFound], at: 1, to: [0x06, 1, 0, 0xFF, 0xFF, 0x00, 0x28, 0x99, 0xEE])
    },
    ServerCase(
      "search/value-without-permission", "a search over unreadable values",
      "Find By Type Value skips unreadable values, and is answered", "Vol 3, Part F, 3.4.3.3"
    ) { bench in
      let hidden = try bench.require(
        bench.known.values.first { $0.isRefused && $0.uuid.count == 2 },
        orSkip: "no value with a short UUID is unreadable")
      try await bench.expectError(
        [.attributeNotFound], at: hidden.handle,
        to: [0x06] + octets(hidden.handle) + octets(hidden.handle) + hidden.uuid + [0x00])
    },
    ServerCase(
      "search/declarations", "declarations refer to existing values",
      "A characteristic's value has the type and handle in its declaration, and follows the "
        + "declaration in the same service", "Vol 3, Part G, 3.3.1 and 3.3.2"
    ) { bench in
      for value in bench.known.values {
        let attribute = bench.known.attributes.first { $0.handle == value.handle }
        try bench.check(
          value.handle > value.declaration && attribute?.type == value.uuid,
          "the declaration at \(AttributeHandle(value.declaration)) refers to "
            + "\(AttributeHandle(value.handle)), which "
            + (attribute == nil ? "does not exist" : "has another type"))
        let end = bench.known.group(of: value.declaration)?.end
        try bench.check(
          value.handle <= end ?? 0,
          "the value at \(AttributeHandle(value.handle)) is outside the service of its declaration")
        let between = bench.known.attributes.first {
          value.declaration < $0.handle && $0.handle < value.handle
        }
        try bench.check(
          between == nil,
          "an attribute lies between the declaration at \(AttributeHandle(value.declaration)) and its value"
        )
      }
    },
    ServerCase(
      "search/includes", "includes refer to services",
      "An include has the handles of a service, and its UUID only if that has 16 bits; it precedes the "
        + "characteristics", "Vol 3, Part G, 3.1 and 3.2"
    ) { bench in
      try bench.require(!bench.known.includes.isEmpty, orSkip: "no service includes another")
      for (handle, value) in bench.known.includes {
        let group = bench.known.groups.first { $0.start == number(value) }
        let wanted = group.map {
          octets($0.start) + octets($0.end) + ($0.uuid.count == 2 ? $0.uuid : [])
        }
        let end = value.count >= 4 ? number(value[2...]) : 0
        try bench.check(
          value.prefix(2) + value.dropFirst(4) == (wanted ?? []).prefix(2)
            + (wanted ?? []).dropFirst(4)
            && bench.known.isSameEnd(end, group?.end ?? 0),
          "the include at \(AttributeHandle(handle)) is \(EncodedText.hex(value))",
          expected: wanted, got: value)
        let first = bench.known.values.first {
          bench.known.group(of: $0.declaration)?.start == bench.known.group(of: handle)?.start
        }
        try bench.check(
          handle < first?.declaration ?? .max,
          "the include at \(AttributeHandle(handle)) follows a characteristic")
      }
    },
    ServerCase(
      "search/many-matches", "several services with one UUID",
      "Find By Type Value returns complete pairs of handles, as many as fit, in order",
      "Vol 3, Part F, 3.4.3.4"
    ) { bench in
      let primary = bench.known.groups.filter(\.isPrimary)
      let repeated = primary.first { group in
        group.uuid.count == 2 && primary.count { $0.uuid == group.uuid } > 1
      }
      let uuid = try bench.require(
        repeated?.uuid, orSkip: "no two primary services have the same short UUID")
      let same = primary.filter { $0.uuid == uuid }
      let pairs = same.prefix((bench.mtu - 1) / 4).map { octets($0.start) + octets($0.end) }
      let wanted: [UInt8] = [0x07] + pairs.joined()
      let response = try await bench.ask([0x06, 1, 0, 0xFF, 0xFF, 0x00, 0x28] + uuid)
      let found = stride(from: 1, to: response.count, by: 4).map { response[$0...].prefix(4) }
      let areRight = zip(found, same).allSatisfy { pair, group in
        pair.count == 4 && number(pair) == group.start
          && bench.known.isSameEnd(number(pair.dropFirst(2)), group.end)
      }
      try bench.check(
        response.first == 0x07 && (1...pairs.count).contains(found.count) && areRight,
        "\(same.count) services were answered with \(bench.summary(response))", expected: wanted,
        got: response)
    },
  ]
}
