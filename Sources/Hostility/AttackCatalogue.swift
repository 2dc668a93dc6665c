import ATT

/// The attacks that can be sent to a live server, each a mistake that some stack has made.
public enum AttackCatalogue {
  /// All of them, in the order in which they are carried out.
  ///
  /// - Parameter mtu: the ATT_MTU, at least 23: lengths go to one octet beyond it.
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
      Attack("empty", "a PDU without a single octet", [[]]),
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
        "h7", "more handles than the response has room for",
        [
          [0x0E] + [UInt8](repeating: 0x03, count: (mtu - 1) / 2 * 2),
          [0x0E] + (0..<(mtu - 1) / 2).flatMap { _ in [0x03, 0x00] as [UInt8] },
          [0x20] + (0..<(mtu - 1) / 2).flatMap { _ in [0x03, 0x00] as [UInt8] },
        ]),
      Attack(
        "h10", "ATT_MTU exchanged twice, then below its least",
        [[0x02, 0x17, 0], [0x02, 0x17, 0], [0x02, 0, 0]]),
      Attack(
        "h11", "ranges that begin at 0 or are reversed",
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
        "h16", "values shorter than their handle",
        [[0x1B], [0x1B, 1], [0x1B, 1, 0], [0x1D], [0x1D, 1], [0x23], [0x23, 1, 0, 1]]),
      Attack(
        "h19", "every opcode alone, but for those that write",
        (UInt8.min...UInt8.max).map { [$0] }.filter { !Attack.mayWrite($0) }),
      Attack(
        "group", "grouping by types that group nothing",
        [
          [0x10, 1, 0, 0xFF, 0xFF, 0x03, 0x28], [0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x2A],
          [0x10, 1, 0, 0xFF, 0xFF] + [UInt8](repeating: 0xFF, count: 16),
        ]),
      Attack(
        "unsolicited", "every response, and confirmations, unasked",
        [
          [0x01, 0x0A, 3, 0, 0x0A], [0x03, 0x17, 0], [0x05, 1, 1, 0, 0, 0x28], [0x07, 1, 0, 2, 0],
          [0x09, 0, 1, 0], [0x09, 1, 1, 0], [0x0B, 1], [0x0D], [0x0F], [0x11, 0, 1, 0], [0x13],
          [0x17, 3, 0, 0, 0], [0x19], [0x21, 0xFF, 0xFF], [0x1E], [0x1E], [0x1E, 0],
        ]),
      Attack(
        "pipelined", "eight requests without waiting for a response",
        (0..<8).map { [0x0A, $0 + 1, 0] }),
      Attack(
        "bad-write-command", "write commands to handles that are not there",
        [[0x52], [0x52, 0], [0x52, 0, 0, 1], [0x52, 0xFF, 0xFF, 1], [0xD2, 3, 0, 1]]),
    ]
  }

  /// Every length from 1 to ATT_MTU + 1 of every opcode, known or not far from it.
  private static func lengths(_ mtu: Int) -> [Attack] {
    let opcodes = (UInt8.min...UInt8.max).filter { Opcode($0).name != nil }
    return (opcodes + [0x00, 0x3F, 0x7F, 0xBF, 0xFF]).map { opcode in
      let digits = String(opcode, radix: 16)
      let name = "lengths-" + (opcode < 16 ? "0" : "") + digits
      let pdus = (0...mtu).map { [opcode] + [UInt8](repeating: 0x01, count: $0) }
      return Attack(name, "\(Opcode(opcode)) in every length", pdus)
    }
  }

  /// H20: something to be refused, and the link is gone before it can be.
  private static var disconnects: [Attack] {
    let pdus: [(String, [UInt8])] = [
      ("read", [0x0A]), ("unknown", [0x3F]), ("find", [0x06, 1, 0]), ("prepare", [0x16, 3, 0, 0]),
      ("discovery", [0x10, 1, 0, 0xFF, 0xFF, 0, 0x28]),
    ]
    return pdus.map {
      Attack("h20-" + $0.0, "a request, and the link's end at once", [$0.1], endsLink: true)
    }
  }
}
