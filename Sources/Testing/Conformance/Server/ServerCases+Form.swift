import AttoATT

extension ServerCase {
  private static let invalid = Rule(
    "A request of an invalid length is answered with Invalid PDU", "Vol 3, Part F, 3.4.1.1")

  /// A request of an invalid length. A server may refuse requests that it does not support, but must
  /// support Find Information and Read (3.4.9).
  private static func malformed(_ name: String, _ pdus: [[UInt8]]) -> ServerCase {
    ServerCase("form/" + name, "a request of an invalid length", invalid) { bench in
      for pdu in pdus {
        let optional = pdu[0] != 0x04 && pdu[0] != 0x0A
        try await bench.expectError(
          [.invalidPDU] + (optional ? [.requestNotSupported] : []), at: nil, to: pdu)
      }
    }
  }

  /// The form of PDUs. Vol 3, Part F, 3.3 and 3.4.1.1.
  static let form: [ServerCase] = [
    malformed("exchange-mtu", [[0x02], [0x02, 0x17], [0x02, 0x17, 0x00, 0x00]]),
    malformed("find-information", [[0x04], [0x04, 1, 0], [0x04, 1, 0, 0xFF, 0xFF, 0]]),
    malformed("find-by-type-value", [[0x06], [0x06, 1, 0, 0xFF, 0xFF, 0]]),
    malformed(
      "read-by-type", [[0x08], [0x08, 1, 0, 0xFF, 0xFF], [0x08, 1, 0, 0xFF, 0xFF, 0, 0x28, 0]]),
    malformed("read", [[0x0A], [0x0A, 1], [0x0A, 1, 0, 0]]),
    malformed("read-blob", [[0x0C], [0x0C, 1, 0, 0], [0x0C, 1, 0, 0, 0, 0]]),
    malformed("read-multiple", [[0x0E], [0x0E, 1, 0], [0x0E, 1, 0, 2, 0, 3]]),
    malformed(
      "read-by-group-type",
      [[0x10], [0x10, 1, 0, 0xFF, 0xFF], [0x10, 1, 0, 0xFF, 0xFF, 0, 0x28, 0]]),
    malformed("write", [[0x12], [0x12, 1]]),
    malformed("prepare-write", [[0x16], [0x16, 1, 0, 0]]),
    malformed("execute-write", [[0x18], [0x18, 0, 0]]),
    malformed("read-multiple-variable", [[0x20], [0x20, 1, 0], [0x20, 1, 0, 2, 0, 3]]),
    ServerCase("form/longer-than-mtu", "a request longer than ATT_MTU", invalid) { bench in
      try await bench.expectError(
        [.invalidPDU], at: nil, to: [0x0A, 1, 0] + [UInt8](repeating: 0, count: 30))
    },
    ServerCase(
      "form/as-long-as-mtu", "a request of ATT_MTU octets",
      "A request may have ATT_MTU octets", "Vol 3, Part F, 3.2.8 and 3.4.3.3"
    ) { bench in
      for offered: UInt16? in [nil, 64] {
        if let offered { try await bench.exchange(offered) }
        let value = [UInt8](repeating: 0xEE, count: bench.mtu - 7)
        try await bench.expectError(
          [.attributeNotFound, .requestNotSupported], at: 1,
          to: [0x06, 1, 0, 0xFF, 0xFF, 0x00, 0x28] + value)
      }
    },
    ServerCase(
      "form/unknown-request", "unknown requests",
      "An unknown request is answered with Request Not Supported",
      "Vol 3, Part F, 3.4.1.1 and 3.4.9"
    ) { bench in
      for pdu: [UInt8] in [[0x3F], [0x14, 1, 2], [0x22, 0, 0, 0, 0], [0x80, 1]] {
        try await bench.expectError([.requestNotSupported], at: 0, to: pdu)
      }
    },
    ServerCase(
      "form/unknown-command", "unknown commands",
      "A command is never answered", "Vol 3, Part F, 3.3 and 3.4.9"
    ) { bench in
      try await bench.expectQuiet(
        after: [[0x7F, 1, 2], [0x40], [0x5A] + [UInt8](repeating: 1, count: 20)])
    },
    ServerCase(
      "form/command", "invalid commands",
      "A command is never answered, even if it is invalid", "Vol 3, Part F, 3.4.5.3"
    ) { bench in
      let unknown = octets(bench.known.unknownHandle ?? 0)
      try await bench.expectQuiet(
        after: [
          [0x52], [0x52, 1], [0x52, 0, 0, 1], [0x52] + unknown + [1], [0xD2], [0xD2, 1, 0, 1],
        ])
    },
    ServerCase(
      "form/unasked", "unsolicited responses and confirmations",
      "An unsolicited response is ignored", "Vol 3, Part F, 3.3"
    ) { bench in
      // With an error about security, a host may begin to pair.
      try await bench.expectQuiet(
        after: [[0x01, 0x0A, 1, 0, 0x0E], [0x03, 0x17, 0], [0x0B, 1], [0x13], [0x1E]])
    },
  ]
}
