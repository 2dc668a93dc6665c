import AttoATT

extension ServerCase {
  private static let found = Rule(
    "A search returns the attributes of its range, from the first on, or Attribute Not Found at its start",
    "Vol 3, Part F, 3.4.3 and 3.4.4")

  /// Ranges around attributes, and in gaps between them.
  private static func ranges(_ bench: ServerBench) -> [ClosedRange<UInt16>] {
    let handles = bench.known.attributes.map(\.handle)
    let starts = bench.known.groups.map(\.start)
    // The first and the last attributes, the services, and some others.
    let step = max(1, handles.count / 6)
    var chosen = Set(stride(from: 3, to: handles.count, by: step).map { handles[$0] })
    for some in [handles.prefix(2), starts.prefix(6), starts.suffix(2), handles.suffix(2)] {
      chosen.formUnion(some)
    }
    var ranges: [ClosedRange<UInt16>] = []
    for handle in chosen.sorted() {
      ranges.append(handle...handle)
      if handle < 0xFFFF { ranges.append(handle...(handle + 1)) }
      if handle > 2 { ranges.append((handle - 2)...(handle - 1)) }
    }
    return ranges
  }

  /// Sends a search, and compares the handles of the response with those of the survey.
  ///
  /// - Parameter size: the length of an entry, by the second octet; nil where the list begins there.
  private static func checkSearch(
    _ bench: ServerBench, _ pdu: [UInt8], finds wanted: [UInt16], size: (UInt8) -> Int?
  ) async throws {
    let response = try await bench.ask(pdu)
    let start = number(pdu[1...])
    guard response[0] != 0x01 else {
      try bench.check(
        wanted.isEmpty && response[4] == 0x0A && number(response[2...]) == start,
        "\(bench.name(pdu)) was answered with \(bench.summary(response)), "
          + (wanted.isEmpty
            ? "and nothing is there" : "and \(AttributeHandle(wanted[0])) is there"),
        expected: wanted.isEmpty ? [0x01, pdu[0]] + octets(start) + [0x0A] : nil, got: response)
      return
    }
    let entry = size(response[1])
    let handles = stride(from: entry == nil ? 1 : 2, to: response.count, by: max(1, entry ?? 4)).map
    {
      number(response[$0...])
    }
    try bench.check(
      !handles.isEmpty && wanted.starts(with: handles),
      "\(bench.name(pdu)) was answered with \(bench.summary(response)); the range has "
        + (wanted.isEmpty
          ? "none" : wanted.map { "\(AttributeHandle($0))" }.joined(separator: ", ")),
      got: response)
  }

  /// The structure of the database, and searches in parts of it.
  static let structure: [ServerCase] = [
    ServerCase("search/ranges", "searches in parts of the database", found) { bench in
      try bench.require(!bench.known.attributes.isEmpty, orSkip: "the survey found no attributes")
      let known = bench.known
      let uuid = known.groups.first(where: \.isPrimary)?.uuid ?? octets(0x1800)
      for range in ranges(bench) {
        let both = octets(range.lowerBound) + octets(range.upperBound)
        let primary = known.groups.filter { $0.isPrimary && range.contains($0.start) }
        try await checkSearch(
          bench, [0x04] + both, finds: known.attributes.map(\.handle).filter(range.contains)
        ) { $0 == 1 ? 4 : 18 }
        try await checkSearch(
          bench, [0x08] + both + octets(0x2803),
          finds: known.values.map(\.declaration).filter(range.contains)
        ) { Int($0) }
        try await checkSearch(
          bench, [0x10] + both + octets(0x2800), finds: primary.map(\.start)
        ) { Int($0) }
        guard uuid.count == 2 else { continue }
        try await checkSearch(
          bench, [0x06] + both + octets(0x2800) + uuid,
          finds: primary.filter { $0.uuid == uuid }.map(\.start)
        ) { _ in nil }
      }
      // A type that no attribute has.
      try await checkSearch(bench, [0x08, 1, 0, 0xFF, 0xFF, 0x98, 0xEE], finds: []) { Int($0) }
    },
    ServerCase(
      "search/groups", "all attributes belong to services",
      "A service has the attributes up to the next service, and each kind of search finds it",
      "Vol 3, Part G, 3.1 and 2.6.2"
    ) { bench in
      let known = bench.known
      let groups = known.groups.sorted { $0.start < $1.start }
      try bench.require(!groups.isEmpty, orSkip: "the survey found no services")
      for (group, next) in zip(groups, groups.dropFirst()) {
        try bench.check(
          group.end < next.start,
          "the service at \(AttributeHandle(group.start)) ends at \(AttributeHandle(group.end)), after "
            + "the start of the next at \(AttributeHandle(next.start))")
      }
      for attribute in known.attributes {
        let handle = AttributeHandle(attribute.handle)
        try bench.check(
          groups.contains { $0.start <= attribute.handle && attribute.handle <= $0.end },
          "the attribute at \(handle) is in no service")
        let isListed =
          switch attribute.type.count == 2 ? number(attribute.type) : 0 {
          case 0x2800: groups.contains { $0.start == attribute.handle && $0.isPrimary }
          case 0x2801: groups.contains { $0.start == attribute.handle && !$0.isPrimary }
          case 0x2802: known.includes.contains { $0.handle == attribute.handle }
          case 0x2803: known.values.contains { $0.declaration == attribute.handle }
          default: true
          }
        try bench.check(isListed, "the declaration at \(handle) is found by Find Information only")
      }
      let handles = Set(known.attributes.map(\.handle))
      for handle in groups.map(\.start) + known.values.map(\.declaration)
        + known.includes.map(\.handle)
      {
        try bench.check(
          handles.contains(handle),
          "Find Information does not return the declaration at \(AttributeHandle(handle))")
      }
    },
    ServerCase(
      "read/attributes", "listed attributes exist",
      "An attribute that Find Information returns has a valid handle", "Vol 3, Part F, 3.4.3.2"
    ) { bench in
      try bench.require(!bench.known.attributes.isEmpty, orSkip: "the survey found no attributes")
      for attribute in bench.known.attributes.prefix(300) {
        // Values have been read, and may take long.
        guard !bench.known.values.contains(where: { $0.handle == attribute.handle }) else {
          continue
        }
        let response = try await bench.read(attribute.handle)
        try bench.check(
          response[0] == 0x0B || response[4] != 0x01,
          "the attribute at \(AttributeHandle(attribute.handle)) is read with \(bench.summary(response))",
          got: response)
      }
    },
    ServerCase(
      "gatt/descriptors", "characteristics have their descriptors",
      "A value that can be notified or indicated has one Client Characteristic Configuration, and one "
        + "with the property Extended Properties has their descriptor",
      "Vol 3, Part G, 3.3.1.1 and 3.3.3"
    ) { bench in
      try bench.require(!bench.known.values.isEmpty, orSkip: "the survey found no characteristics")
      for value in bench.known.values {
        let types = bench.known.descriptors(of: value).map(\.type)
        let handle = AttributeHandle(value.handle)
        for type: UInt16 in [0x2900, 0x2901, 0x2902, 0x2903, 0x2905] {
          let count = types.count { $0 == octets(type) }
          try bench.check(
            count <= 1,
            "the value at \(handle) has \(count) descriptors \(Hex.text(octets(type).reversed()))")
        }
        // A profile may leave it out on purpose.
        try bench.check(
          bench.known.layout != nil || value.properties & 0x30 == 0
            || types.contains(octets(0x2902)),
          "the value at \(handle) can be notified or indicated and has no configuration")
        try bench.check(
          (value.properties & 0x80 != 0) == types.contains(octets(0x2900)),
          "the property Extended Properties of the value at \(handle) does not match its descriptors"
        )
      }
    },
    ServerCase(
      "gatt/generic", "the generic services and their values",
      "Generic Access and Generic Attribute exist at most once, and their values have the specified "
        + "lengths", "Vol 3, Part C, 12, and Part G, 7"
    ) { bench in
      for uuid: UInt16 in [0x1800, 0x1801] {
        let count = bench.known.groups.count { $0.uuid == octets(uuid) }
        try bench.check(
          count <= 1, "\(count) services have the UUID \(Hex.text(octets(uuid).reversed()))")
      }
      var found = 0
      for (uuid, lengths): (UInt16, ClosedRange<Int>) in [
        (0x2A01, 2...2), (0x2A04, 8...8), (0x2AA6, 1...1), (0x2B29, 1...22), (0x2B2A, 16...16),
        (0x2B3A, 1...22),
      ] {
        for value in bench.known.values where value.uuid == octets(uuid) {
          guard let count = value.octets?.count else { continue }
          found += 1
          try bench.check(
            lengths.contains(count),
            "the value at \(AttributeHandle(value.handle)) (\(Hex.text(octets(uuid).reversed()))) has "
              + "\(count) octets")
        }
      }
      try bench.require(found > 0, orSkip: "the server has none of these values")
    },
  ]
}
