import ATT
import GATT

extension ServerCase {
  /// What a GATT server keeps: descriptors, the Generic Attribute service, the prepare queue.
  static let kept: [ServerCase] = [
    ServerCase("gatt/configurations", "a new client's configurations are zero") {
      bench throws(CaseStop) in
      let rule = Rule(
        "A Client Characteristic Configuration can be read by anybody, has two octets, and is "
          + "zero for a client without a bond", "Vol 3, Part G, 3.3.3.3")
      let handles = bench.known.handles(of: 0x2902)
      guard !handles.isEmpty else { throw .skipped("there is no such descriptor") }
      for handle in handles.prefix(50) {
        let response = try await bench.ask([0x0A] + octets(handle))
        guard response == [0x0B, 0, 0] else {
          throw rule.broken(
            "that at \(AttributeHandle(handle)) was answered with \(bench.summary(response))",
            expected: "0b 00 00", got: response)
        }
      }
    },
    ServerCase("gatt/formats", "descriptors have their lengths") { bench throws(CaseStop) in
      let rule = Rule(
        "A Presentation Format has 7 octets, Extended Properties have 2, an Aggregate Format "
          + "whole handles", "Vol 3, Part G, 3.3.3")
      var found = 0
      for (type, isRight): (UInt16, (Int) -> Bool) in [
        (0x2904, { $0 == 7 }), (0x2900, { $0 == 2 }), (0x2905, { $0 % 2 == 0 }),
      ] {
        for handle in bench.known.handles(of: type).prefix(30) {
          let response = try await bench.ask([0x0A] + octets(handle))
          guard response[0] == 0x0B else { continue }
          found += 1
          guard isRight(response.count - 1) else {
            throw rule.broken(
              "the descriptor at \(AttributeHandle(handle)) has \(response.count - 1) octets",
              got: response)
          }
        }
      }
      guard found > 0 else { throw .skipped("there is no such descriptor") }
    },
    ServerCase("gatt/database-hash", "the Database Hash is that of the database") {
      bench throws(CaseStop) in
      let rule = Rule(
        "The Database Hash is the AES-CMAC of the declarations and some descriptors, sent least "
          + "significant octet first", "Vol 3, Part G, 7.3.1")
      guard bench.known.values.contains(where: { $0.uuid == octets(0x2B2A) }) else {
        throw .skipped("the server has no Database Hash")
      }
      var input: [UInt8] = []
      for attribute in bench.known.attributes {
        switch number(attribute.type) {
        case _ where attribute.type.count != 2: continue
        case 0x2800, 0x2801, 0x2802, 0x2803, 0x2900:
          let response = try await bench.ask([0x0A] + octets(attribute.handle))
          input += octets(attribute.handle) + attribute.type + response.dropFirst()
        case 0x2901, 0x2902, 0x2903, 0x2904, 0x2905:
          input += octets(attribute.handle) + attribute.type
        default: continue
        }
      }
      let response = try await bench.ask([0x08, 1, 0, 0xFF, 0xFF] + octets(0x2B2A))
      guard response[0] == 0x09, response.count == 20 else {
        throw rule.broken(
          "reading it by its type brought \(bench.summary(response))", got: response)
      }
      let hash = databaseHash(of: input)
      let found = Array(response.dropFirst(4))
      guard found != hash else { return }
      guard found != hash.reversed() else {
        throw rule.broken(
          "it was sent most significant octet first", expected: EncodedText.hex(hash), got: found)
      }
      throw rule.broken("it is another", expected: EncodedText.hex(hash), got: found)
    },
    ServerCase("gatt/service-changed", "Service Changed is indicated, and nothing else") {
      bench throws(CaseStop) in
      let rule = Rule(
        "Service Changed is there once, has the property Indicate alone, cannot be read or "
          + "written, and can be configured", "Vol 3, Part G, 7.1")
      let found = bench.known.values.filter { $0.uuid == octets(0x2A05) }
      guard let value = found.first else { throw .skipped("the server has none") }
      guard found.count == 1, value.properties == 0x20 else {
        throw rule.broken("there are \(found.count), the first with \(value.properties)")
      }
      let group = bench.known.groups.first { $0.start < value.handle && value.handle <= $0.end }
      let next = bench.known.values.first { $0.declaration > value.handle }?.declaration ?? 0xFFFF
      let end = min(group?.end ?? 0xFFFF, next)
      let configuration = bench.known.handles(of: 0x2902).first {
        value.handle < $0 && $0 <= end
      }
      guard configuration != nil else { throw rule.broken("it has no configuration") }
    },
    ServerCase("gatt/features", "features are announced and not taken back", writes: true) {
      bench throws(CaseStop) in
      let rule = Rule(
        "A client cannot take back a feature: Value Not Allowed", "Vol 3, Part G, 7.2")
      guard let value = bench.known.values.first(where: { $0.uuid == octets(0x2B29) }) else {
        throw .skipped("the server has no Client Supported Features")
      }
      let response = try await bench.ask([0x12] + octets(value.handle) + [0x01])
      guard response == [0x13] else {
        throw .skipped("robust caching is refused: \(bench.summary(response))")
      }
      try await bench.expectError(
        [.valueNotAllowed], at: value.handle, to: [0x12] + octets(value.handle) + [0x00], rule)
    },
    ServerCase("gatt/quiet", "nothing is sent unasked") { bench throws(CaseStop) in
      guard let pdu = try await bench.wire.receive(within: .milliseconds(500)) else { return }
      throw Rule.quiet.broken("\(bench.summary(pdu)) came on a new link", got: pdu)
    },
    ServerCase("queue/empty", "executing and cancelling an empty queue") { bench throws(CaseStop) in
      let rule = Rule(
        "Execute Write succeeds on an empty queue, whatever its flags", "Vol 3, Part F, 3.4.6.3")
      for flags: UInt8 in [0, 1] {
        let response = try await bench.ask([0x18, flags])
        if response[0] == 0x01, response[4] == 0x06 {
          throw .skipped("the server does not support prepared writes")
        }
        guard response == [0x19] else {
          throw rule.broken(
            "it was answered with \(bench.summary(response))", expected: "19", got: response)
        }
      }
    },
  ]
}
