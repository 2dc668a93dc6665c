import AttoATT

/// The known attacks on servers. Each provokes a mistake that some stack has made.
public enum AttackCatalogue {
  /// All attacks in the order of a run.
  ///
  /// - Parameter mtu: the ATT_MTU, at least 23. Lengths go up to one octet more.
  public static func attacks(mtu: Int = 23) -> [Attack] {
    let mtu = max(23, mtu)
    return named(mtu) + lengths(mtu) + disconnects
  }

  private static func named(_ mtu: Int) -> [Attack] {
    let part = [UInt8](repeating: 0x41, count: mtu - 5)
    let prepares = (0..<40).map { index -> [UInt8] in
      let offset = min(0xFFFF, index * part.count)
      return [0x16, 0x03, 0x00, UInt8(offset & 0xFF), UInt8(offset >> 8)] + part
    }
    return [
      Attack("empty", "an empty PDU", [[]]),
      Attack("h1", "a chain of prepared writes past 512 octets", prepares + [[0x18, 0]]),
      Attack(
        "h2", "offsets beyond the value",
        [
          [0x0C, 0x03, 0x00, 0x01, 0x00], [0x0C, 0x03, 0x00, 0xFF, 0xFF],
          [0x0C, 0xFF, 0xFF, 0xFF, 0xFF],
        ]),
      Attack(
        "h5", "a tuple longer than its notification, to a server",
        [[0x23, 0x03, 0x00, 0xFF, 0xFF, 0x41], [0x23, 3, 0, 1, 0, 0x41, 3, 0, 9, 0, 0x41]]),
      Attack(
        "h7", "more handles than fit the response",
        [
          [0x0E] + [UInt8](repeating: 0x03, count: (mtu - 1) / 2 * 2),
          [0x0E] + (0..<(mtu - 1) / 2).flatMap { _ in [0x03, 0x00] as [UInt8] },
          [0x20] + (0..<(mtu - 1) / 2).flatMap { _ in [0x03, 0x00] as [UInt8] },
        ]),
      Attack(
        "h10", "ATT_MTU exchanged twice, then below its minimum",
        [[0x02, 0x17, 0], [0x02, 0x17, 0], [0x02, 0, 0]]),
      Attack(
        "h11", "ranges that start at 0 or are reversed",
        [
          [0x04, 0, 0, 0xFF, 0xFF], [0x04, 2, 0, 1, 0], [0x06, 0, 0, 0, 0, 0, 0x28],
          [0x08, 0xFF, 0xFF, 1, 0, 3, 0x28], [0x10, 5, 0, 4, 0, 0, 0x28],
        ]),
      Attack(
        "h15", "responses that fill the PDU",
        [
          [0x08, 1, 0, 0xFF, 0xFF, 0x00, 0x2A], [0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28],
          [0x08, 1, 0, 0xFF, 0xFF, 0x03, 0x28], [0x04, 1, 0, 0xFF, 0xFF],
        ]),
      Attack(
        "h16", "values too short for their handle",
        [[0x1B], [0x1B, 1], [0x1B, 1, 0], [0x1D], [0x1D, 1], [0x23], [0x23, 1, 0, 1]]),
      Attack(
        "h19", "every opcode alone, except writes",
        (UInt8.min...UInt8.max).map { [$0] }.filter { !Attack.mayWrite($0) }),
      Attack(
        "group", "grouping by types that are not grouping types",
        [
          [0x10, 1, 0, 0xFF, 0xFF, 0x03, 0x28], [0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x2A],
          [0x10, 1, 0, 0xFF, 0xFF] + [UInt8](repeating: 0xFF, count: 16),
        ]),
      Attack(
        "unsolicited", "unsolicited responses and confirmations",
        [
          [0x01, 0x0A, 3, 0, 0x0A], [0x03, 0x17, 0], [0x05, 1, 1, 0, 0, 0x28], [0x07, 1, 0, 2, 0],
          [0x09, 0, 1, 0], [0x09, 1, 1, 0], [0x0B, 1], [0x0D], [0x0F], [0x11, 0, 1, 0], [0x13],
          [0x17, 3, 0, 0, 0], [0x19], [0x21, 0xFF, 0xFF], [0x1E], [0x1E], [0x1E, 0],
        ]),
      Attack(
        "pipelined", "eight requests without waiting for a response",
        (0..<8).map { [0x0A, $0 + 1, 0] }, .atOnce),
      Attack(
        "bad-write-command", "write commands to unknown handles",
        [[0x52], [0x52, 0], [0x52, 0, 0, 1], [0x52, 0xFF, 0xFF, 1], [0xD2, 3, 0, 1]]),
    ]
  }

  /// All lengths from 1 to ATT_MTU + 1 for each known opcode and some unknown ones.
  private static func lengths(_ mtu: Int) -> [Attack] {
    let opcodes = Opcode.all.map(\.rawValue)
    return (opcodes + [0x00, 0x3F, 0x7F, 0xBF, 0xFF]).map { opcode in
      let name = "lengths-" + Hex.text([opcode])
      let pdus = (0...mtu).map { [opcode] + [UInt8](repeating: 0x01, count: $0) }
      return Attack(name, "\(Opcode(opcode)) in all lengths", pdus)
    }
  }

  /// H20: a request that must be refused, and a disconnection before the response.
  private static var disconnects: [Attack] {
    let pdus: [(String, [UInt8])] = [
      ("read", [0x0A]), ("unknown", [0x3F]), ("find", [0x06, 1, 0]), ("prepare", [0x16, 3, 0, 0]),
      ("discovery", [0x10, 1, 0, 0xFF, 0xFF, 0, 0x28]),
    ]
    return pdus.map {
      Attack(
        "h20-" + $0.0, "a request and an immediate disconnection", [$0.1], .beforeDisconnecting)
    }
  }
}
