import ATT

extension ServerCase {
  private static let invalid = Rule(
    "A request whose length is wrong is answered with Invalid PDU", "Vol 3, Part F, 3.4.1.1")

  /// A request of a wrong length. What a server does not support it need not look into, but Find
  /// Information and Read must be supported (3.4.9).
  private static func misformed(_ name: String, _ pdus: [[UInt8]]) -> ServerCase {
    ServerCase("form/" + name, "of a wrong length") { bench throws(CaseStop) in
      for pdu in pdus {
        let optional = pdu[0] != 0x04 && pdu[0] != 0x0A
        try await bench.expectError(
          [.invalidPDU] + (optional ? [.requestNotSupported] : []), at: nil, to: pdu, invalid)
      }
    }
  }

  /// The form of PDUs. Vol 3, Part F, 3.3 and 3.4.1.1.
  static let formed: [ServerCase] = [
    misformed("exchange-mtu", [[0x02], [0x02, 0x17], [0x02, 0x17, 0x00, 0x00]]),
    misformed("find-information", [[0x04], [0x04, 1, 0], [0x04, 1, 0, 0xFF, 0xFF, 0]]),
    misformed("find-by-type-value", [[0x06], [0x06, 1, 0, 0xFF, 0xFF, 0]]),
    misformed(
      "read-by-type", [[0x08], [0x08, 1, 0, 0xFF, 0xFF], [0x08, 1, 0, 0xFF, 0xFF, 0, 0x28, 0]]),
    misformed("read", [[0x0A], [0x0A, 1], [0x0A, 1, 0, 0]]),
    misformed("read-blob", [[0x0C], [0x0C, 1, 0, 0], [0x0C, 1, 0, 0, 0, 0]]),
    misformed("read-multiple", [[0x0E], [0x0E, 1, 0], [0x0E, 1, 0, 2, 0, 3]]),
    misformed("read-by-group-type", [[0x10], [0x10, 1, 0, 0xFF, 0xFF]]),
    misformed("write", [[0x12], [0x12, 1]]),
    misformed("prepare-write", [[0x16], [0x16, 1, 0, 0]]),
    misformed("execute-write", [[0x18], [0x18, 0, 0]]),
    misformed("read-multiple-variable", [[0x20], [0x20, 1, 0], [0x20, 1, 0, 2, 0, 3]]),
    ServerCase("form/longer-than-mtu", "a request that is longer than ATT_MTU") {
      bench throws(CaseStop) in
      try await bench.expectError(
        [.invalidPDU], at: nil, to: [0x0A, 1, 0] + [UInt8](repeating: 0, count: 30), invalid)
    },
    ServerCase("form/unknown-request", "requests that do not exist") { bench throws(CaseStop) in
      let rule = Rule(
        "A request that the server does not know is answered with Request Not Supported",
        "Vol 3, Part F, 3.4.1.1 and 3.4.9")
      for pdu: [UInt8] in [[0x3F], [0x14, 1, 2], [0x22, 0, 0, 0, 0], [0x80, 1]] {
        try await bench.expectError([.requestNotSupported], at: 0, to: pdu, rule)
      }
    },
    ServerCase("form/unknown-command", "commands that do not exist") { bench throws(CaseStop) in
      let rule = Rule("A command is never answered", "Vol 3, Part F, 3.3 and 3.4.9")
      for pdu: [UInt8] in [[0x7F, 1, 2], [0x40], [0x5A] + [UInt8](repeating: 1, count: 20)] {
        try await bench.wire.send(pdu)
      }
      try await bench.expectQuiet(rule)
    },
    ServerCase("form/command", "commands that are wrong in every way") { bench throws(CaseStop) in
      let rule = Rule(
        "A command is never answered, whatever is wrong with it", "Vol 3, Part F, 3.4.5.3")
      let unknown = octets(bench.known.unknownHandle ?? 0)
      for pdu in [
        [0x52], [0x52, 1], [0x52, 0, 0, 1], [0x52] + unknown + [1], [0xD2], [0xD2, 1, 0, 1],
      ] {
        try await bench.wire.send(pdu)
      }
      try await bench.expectQuiet(rule)
    },
    ServerCase("form/unasked", "responses and confirmations that nothing waits for") {
      bench throws(CaseStop) in
      let rule = Rule("What answers no request is ignored", "Vol 3, Part F, 3.3")
      for pdu: [UInt8] in [
        [0x01, 0x0A, 1, 0, 5], [0x03, 0x17, 0], [0x0B, 1], [0x13], [0x1E],
      ] {
        try await bench.wire.send(pdu)
      }
      try await bench.expectQuiet(rule)
    },
  ]
}
