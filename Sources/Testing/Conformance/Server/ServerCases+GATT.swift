import AttoATT
import AttoGATT

extension ServerCase {
  /// Descriptors, the Generic Attribute service, the prepare queue.
  static let gatt: [ServerCase] = [
    ServerCase(
      "gatt/configurations", "a new client's configurations are zero",
      "A Client Characteristic Configuration is readable, has two octets, and is zero for a "
        + "client without a bond", "Vol 3, Part G, 3.3.3.3"
    ) { bench in
      let handles = bench.known.handles(of: 0x2902)
      try bench.require(!handles.isEmpty, orSkip: "the server has no such descriptor")
      for handle in handles.prefix(50) {
        try await bench.expect(
          [0x0B, 0, 0], to: [0x0A] + octets(handle),
          "the one at \(AttributeHandle(handle)) was answered with")
      }
    },
    ServerCase(
      "gatt/formats", "descriptors have the specified lengths",
      "A Presentation Format has 7 octets, Extended Properties have 2, an Aggregate Format has "
        + "complete handles", "Vol 3, Part G, 3.3.3"
    ) { bench in
      var found = 0
      for (type, isRight): (UInt16, (Int) -> Bool) in [
        (0x2904, { $0 == 7 }), (0x2900, { $0 == 2 }), (0x2905, { $0 > 0 && $0 % 2 == 0 }),
      ] {
        for handle in bench.known.handles(of: type).prefix(30) {
          let response = try await bench.read(handle)
          guard response[0] == 0x0B else { continue }
          found += 1
          try bench.check(
            isRight(response.count - 1),
            "the descriptor at \(AttributeHandle(handle)) has \(response.count - 1) octets",
            got: response)
          guard type == 0x2905 else { continue }
          for at in stride(from: 1, to: response.count, by: 2) {
            try bench.check(
              bench.known.handles(of: 0x2904).contains(number(response[at...])),
              "the Aggregate Format at \(AttributeHandle(handle)) names "
                + "\(AttributeHandle(number(response[at...]))), which is no Presentation Format",
              got: response)
          }
        }
      }
      try bench.require(found > 0, orSkip: "the server has no such descriptor")
    },
    ServerCase(
      "gatt/database-hash", "the Database Hash matches the database",
      "The Database Hash is the AES-CMAC of the declarations and some descriptors, sent least "
        + "significant octet first", "Vol 3, Part G, 7.3.1"
    ) { bench in
      try bench.require(
        bench.known.values.contains(where: { $0.uuid == octets(0x2B2A) }),
        orSkip: "the server has no Database Hash")
      var input: [UInt8] = []
      for attribute in bench.known.attributes where attribute.type.count == 2 {
        switch number(attribute.type) {
        case 0x2800, 0x2801, 0x2802, 0x2803, 0x2900:
          let response = try await bench.read(attribute.handle)
          input += octets(attribute.handle) + attribute.type + response.dropFirst()
        case 0x2901, 0x2902, 0x2903, 0x2904, 0x2905:
          input += octets(attribute.handle) + attribute.type
        default: continue
        }
      }
      let response = try await bench.ask([0x08, 1, 0, 0xFF, 0xFF] + octets(0x2B2A))
      try bench.check(
        response[0] == 0x09 && response.count == 20,
        "Read By Type returned \(bench.summary(response))", got: response)
      let hash = databaseHash(of: input)
      let found = Array(response.dropFirst(4))
      try bench.check(
        found == hash,
        found == hash.reversed()
          ? "the hash was sent most significant octet first" : "the hash is different",
        expected: hash, got: found)
    },
    ServerCase(
      "gatt/service-changed", "Service Changed is only indicated",
      "Service Changed exists once, has only the property Indicate, and has a configuration",
      "Vol 3, Part G, 7.1"
    ) { bench in
      let found = bench.known.values.filter { $0.uuid == octets(0x2A05) }
      let value = try bench.require(found.first, orSkip: "the server has no Service Changed")
      try bench.check(
        found.count == 1 && value.properties == 0x20,
        "found \(found.count), the first with the properties \(value.properties)")
      let next = bench.known.values.first { $0.declaration > value.handle }?.declaration ?? 0xFFFF
      let end = min(bench.known.group(of: value.handle)?.end ?? 0xFFFF, next)
      try bench.check(
        bench.known.handles(of: 0x2902).contains(where: { value.handle < $0 && $0 <= end }),
        "it has no configuration")
    },
    ServerCase(
      "gatt/features", "features cannot be disabled again",
      "A client cannot disable a feature: Value Not Allowed", "Vol 3, Part G, 7.2", writes: true
    ) { bench in
      let value = try bench.require(
        bench.known.values.first(where: { $0.uuid == octets(0x2B29) }),
        orSkip: "the server has no Client Supported Features")
      let response = try await bench.write([0x01], to: value.handle)
      try bench.require(
        response == [0x13], orSkip: "robust caching is refused: \(bench.summary(response))")
      try await bench.expectError(
        [.valueNotAllowed], at: value.handle, to: [0x12] + octets(value.handle) + [0x00])
      let now = try await bench.read(value.handle)
      try bench.check(
        now.count > 1 && now[0] == 0x0B && now[1] & 0x01 != 0, "robust caching is not enabled then",
        expected: [0x0B, 0x01], got: now)
      let other = try await bench.asSecondClient { try await bench.read(value.handle) }
      try bench.check(
        other?.dropFirst().first ?? 0 == 0 || other?.first == 0x01,
        "another client has the feature", got: other)
    },
    ServerCase("gatt/quiet", "nothing is sent without a request", .quiet) { bench in
      // The peer's client may send requests.
      guard let pdu = try await bench.unasked(within: .milliseconds(500), skipsValues: false)
      else { return }
      throw bench.rule.broken("received \(bench.summary(pdu)) on a new link", got: pdu)
    },
    ServerCase(
      "queue/empty", "executing and cancelling an empty queue",
      "Execute Write succeeds on an empty queue with any flags", "Vol 3, Part F, 3.4.6.3"
    ) { bench in
      for flags: UInt8 in [0, 1] {
        let response = try await bench.askIfSupported([0x18, flags], called: "prepared writes")
        try bench.check(
          response == [0x19], "it was answered with \(bench.summary(response))", expected: [0x19],
          got: response)
      }
    },
    ServerCase(
      "queue/flags", "executing with reserved flags",
      "The flags of Execute Write are 0 (cancel) or 1 (write); other values are reserved",
      "Vol 3, Part F, 3.4.6.3"
    ) { bench in
      _ = try await bench.askIfSupported([0x18, 0], called: "prepared writes")
      let response = try await bench.ask([0x18, 2])
      guard response[0] == 0x19 else { return }
      bench.links.notes.append(
        Finding(
          bench.rule.text, section: bench.rule.section,
          "Execute Write with the flags 2 is accepted",
          expected: "an error, such as Invalid PDU or Value Not Allowed", got: response))
    },
  ]
}
