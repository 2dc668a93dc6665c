import ATT

extension ServerCase {
  private static let unknown = Rule(
    "A handle of no attribute is an Invalid Handle, and the error names it",
    "Vol 3, Part F, 3.4.1.1 and 3.4.4")

  /// Takes Request Not Supported for a reason to leave a case out.
  private static func ask(
    _ bench: ServerBench, _ pdu: [UInt8]
  ) async throws(CaseStop) -> [UInt8] {
    let response = try await bench.ask(pdu)
    if response[0] == 0x01, response[4] == 0x06 {
      throw .skipped("the server does not support \(Opcode(pdu[0]))")
    }
    return response
  }

  private static func unknownHandle(_ bench: ServerBench) throws(CaseStop) -> UInt16 {
    guard let handle = bench.known.unknownHandle else {
      throw .skipped("every handle has an attribute")
    }
    return handle
  }

  private static func readable(
    _ bench: ServerBench, atLeast count: Int = 0
  ) throws(CaseStop) -> (handle: UInt16, octets: [UInt8]) {
    for value in bench.known.readable {
      if let octets = value.octets, octets.count >= count { return (value.handle, octets) }
    }
    throw .skipped("no readable value has \(count) octets or more")
  }

  /// Reads one value eleven times in one request.
  private static func cut(
    _ bench: ServerBench, _ handle: UInt16, _ rule: Rule
  ) async throws(CaseStop) {
    let handles = [UInt16](repeating: handle, count: 11)
    let response: [UInt8]
    do throws(CaseStop) {
      response = try await ask(bench, [0x20] + handles.flatMap { octets($0) })
    } catch {
      guard case .broken(var finding) = error, finding.rule == Rule.fits.text else { throw error }
      finding.rule = rule.text
      finding.section = rule.section
      throw .broken(finding)
    }
    guard response[0] == 0x21 else {
      throw rule.broken("it was refused: \(bench.summary(response))", got: response)
    }
    var rest = response.dropFirst()
    while !rest.isEmpty {
      guard rest.count >= 2 else { throw rule.broken("a length was cut", got: response) }
      rest = rest.dropFirst(2 + Int(number(rest)))
    }
  }

  /// Reading. Vol 3, Part F, 3.4.4.
  static let reading: [ServerCase] = [
    ServerCase("read/unknown-handle", "what is not there") { bench throws(CaseStop) in
      for handle in [0, try unknownHandle(bench)] {
        try await bench.expectError(
          [.invalidHandle], at: handle, to: [0x0A] + octets(handle), unknown)
        try await bench.expectError(
          [.invalidHandle, .requestNotSupported], at: handle,
          to: [0x0C] + octets(handle) + [0, 0], unknown)
      }
    },
    ServerCase("read/declarations", "declarations can be read by anybody") {
      bench throws(CaseStop) in
      let rule = Rule(
        "Declarations are readable without security and hold what discovery has found",
        "Vol 3, Part G, 3.1 and 3.3.1")
      for group in bench.known.groups.prefix(50) {
        let response = try await bench.ask([0x0A] + octets(group.start))
        guard response == [0x0B] + group.uuid else {
          throw rule.broken(
            "the service at \(AttributeHandle(group.start)) was read as "
              + bench.summary(response), expected: EncodedText.hex([0x0B] + group.uuid),
            got: response)
        }
      }
      for value in bench.known.values.prefix(50) {
        let wanted = [0x0B, value.properties] + octets(value.handle) + value.uuid
        let response = try await bench.ask([0x0A] + octets(value.declaration))
        guard response == wanted else {
          throw rule.broken(
            "the declaration at \(AttributeHandle(value.declaration)) was read as "
              + bench.summary(response), expected: EncodedText.hex(wanted), got: response)
        }
      }
    },
    ServerCase("read/same", "Read, Read Blob and Read By Type bring the same octets") {
      bench throws(CaseStop) in
      let rule = Rule("One value is the same in every kind of response", "Vol 3, Part F, 3.4.4")
      for value in bench.known.readable.prefix(20) {
        guard let octets = value.octets else { continue }
        let again = try await bench.ask([0x0A] + Conformance.octets(value.handle))
        // A value that changes by itself shows nothing here.
        guard Array(again.dropFirst()) == octets else { continue }
        let typed = try await bench.ask(
          [0x08] + Conformance.octets(value.handle) + Conformance.octets(value.handle) + value.uuid)
        let wanted =
          [0x09, UInt8(min(octets.count, 19) + 2)] + Conformance.octets(value.handle)
          + octets.prefix(19)
        let last = try await bench.ask([0x0A] + Conformance.octets(value.handle))
        guard last == again else { continue }
        guard typed == wanted else {
          throw rule.broken(
            "Read By Type brought \(bench.summary(typed))", expected: EncodedText.hex(wanted),
            got: typed)
        }
      }
    },
    ServerCase("read/blob-end", "a blob from the end of a value, and from behind it") {
      bench throws(CaseStop) in
      let rule = Rule(
        "An offset at the end of a value brings nothing, one behind it is an Invalid Offset; a "
          + "value no longer than a response may be Attribute Not Long", "Vol 3, Part F, 3.4.4.5")
      let long = bench.known.readable.first { $0.octets?.count == 22 }
      if let long {
        var count = 0
        while true {
          let part = try await ask(bench, [0x0C] + octets(long.handle) + octets(UInt16(count)))
          guard part[0] == 0x0D else {
            if count > 0, count % 22 == 0, part[4] == 0x07 || part[4] == 0x0B { break }
            throw rule.broken(
              "the part from \(count) was refused: \(bench.summary(part))", got: part)
          }
          count += part.count - 1
          guard part.count == 23, count < 600 else { break }
        }
        guard count <= 512 else {
          throw Rule("A value has at most 512 octets", "Vol 3, Part F, 3.2.9").broken(
            "that at \(AttributeHandle(long.handle)) has \(count) or more")
        }
        let end = try await bench.ask([0x0C] + octets(long.handle) + octets(UInt16(count)))
        guard end == [0x0D] || (count <= 22 && end.last == 0x0B) else {
          throw rule.broken(
            "at the very end, \(count), came \(bench.summary(end))", expected: "0d", got: end)
        }
        try await bench.expectError(
          [.invalidOffset], at: long.handle,
          to: [0x0C] + octets(long.handle) + octets(UInt16(count + 1)), rule)
      }
      let short = try readable(bench)
      guard short.octets.count < 22 else { return }
      try await bench.expectError(
        [.invalidOffset, .attributeNotLong, .requestNotSupported], at: short.handle,
        to: [0x0C] + octets(short.handle) + [0xFF, 0xFF], rule)
      let end = try await ask(
        bench, [0x0C] + octets(short.handle) + octets(UInt16(short.octets.count)))
      guard end == [0x0D] || end.last == 0x0B && end[0] == 0x01 else {
        throw rule.broken(
          "at the end of a short value came \(bench.summary(end))", expected: "0d", got: end)
      }
    },
    ServerCase("read/multiple", "several values at once") { bench throws(CaseStop) in
      let rule = Rule(
        "Read Multiple joins the values in the order of the request and cuts them at ATT_MTU - 1",
        "Vol 3, Part F, 3.4.4.7 and 3.4.4.8")
      let value = try readable(bench, atLeast: 1)
      let handles = [UInt16](repeating: value.handle, count: 10)
      let response = try await ask(bench, [0x0E] + handles.flatMap { octets($0) })
      let joined = handles.flatMap { _ in value.octets }
      guard response[0] == 0x0F else {
        throw rule.broken("it was refused: \(bench.summary(response))", got: response)
      }
      let again = try await bench.ask([0x0A] + octets(value.handle))
      guard Array(again.dropFirst()) == value.octets else { return }
      // A value cut in a Read Response goes on in a longer list.
      let known = value.octets.count < 22 ? joined : value.octets
      let wanted = [0x0F] + known.prefix(22)
      guard response == wanted else {
        throw rule.broken(
          "ten times \(EncodedText.hex(value.octets)) was answered with "
            + "\(response.count - 1) octets", expected: EncodedText.hex(wanted), got: response)
      }
    },
    ServerCase("read/multiple-unknown", "several values, one of which is not there") {
      bench throws(CaseStop) in
      let value = try readable(bench)
      let handle = try unknownHandle(bench)
      for opcode: UInt8 in [0x0E, 0x20] {
        try await bench.expectError(
          [.invalidHandle, .requestNotSupported], at: handle,
          to: [opcode] + octets(value.handle) + octets(handle), unknown)
      }
    },
    ServerCase("read/multiple-beyond", "permissions of values that do not fit are checked too") {
      bench throws(CaseStop) in
      let rule = Rule(
        "All values of a Read Multiple are checked, also those that are cut off",
        "Vol 3, Part F, 3.4.4.7")
      let value = try readable(bench, atLeast: 3)
      let handle = try unknownHandle(bench)
      let handles = [UInt16](repeating: value.handle, count: 9) + [handle]
      try await bench.expectError(
        [.invalidHandle, .requestNotSupported], at: handle,
        to: [0x0E] + handles.flatMap { octets($0) }, rule)
    },
    ServerCase("read/multiple-variable", "several values with their lengths") {
      bench throws(CaseStop) in
      let rule = Rule(
        "Read Multiple Variable sends each length whole, and cuts the last value at ATT_MTU",
        "Vol 3, Part F, 3.4.4.11 and 3.4.4.12")
      let value = try readable(bench)
      let response = try await ask(
        bench, [0x20] + octets(value.handle) + octets(value.handle))
      guard response[0] == 0x21 else {
        throw rule.broken("it was refused: \(bench.summary(response))", got: response)
      }
      guard value.octets.count < 8 else { return }
      let again = try await bench.ask([0x0A] + octets(value.handle))
      guard Array(again.dropFirst()) == value.octets else { return }
      let entry = octets(UInt16(value.octets.count)) + value.octets
      guard response == [0x21] + entry + entry else {
        throw rule.broken(
          "it was answered with \(bench.summary(response))",
          expected: EncodedText.hex([0x21] + entry + entry), got: response)
      }
    },
    ServerCase("read/multiple-variable-cut", "more values than a response holds") {
      bench throws(CaseStop) in
      let rule = Rule(
        "A Read Multiple Variable Response is no longer than ATT_MTU, and cuts a value, never a "
          + "length", "Vol 3, Part F, 3.4.4.12")
      // How a server counts shows in some lengths and not in others.
      var lengths: Set<Int> = []
      for value in bench.known.readable {
        guard let count = value.octets?.count, count >= 1, lengths.count < 8,
          lengths.insert(count).inserted
        else { continue }
        try await cut(bench, value.handle, rule)
      }
      guard !lengths.isEmpty else { throw .skipped("no readable value has an octet or more") }
    },
    ServerCase("read/by-type-prefix", "a value that cannot be read ends the list before it") {
      bench throws(CaseStop) in
      let rule = Rule(
        "What cannot be read ends a Read By Type before it; only as the first is it an error",
        "Vol 3, Part F, 3.4.4.1")
      for value in bench.known.values {
        guard case .error = value.reading, value.uuid.count == 2 else { continue }
        let earlier = bench.known.values.filter {
          $0.uuid == value.uuid && $0.handle < value.handle && $0.octets != nil
        }
        guard let first = earlier.first else { continue }
        let response = try await bench.ask(
          [0x08] + octets(first.handle) + octets(value.handle) + value.uuid)
        guard response[0] == 0x09 else {
          throw rule.broken(
            "the readable value at \(AttributeHandle(first.handle)) was not sent: "
              + bench.summary(response), got: response)
        }
        return
      }
      throw .skipped("no readable value has the UUID of one behind it that is not")
    },
  ]
}
