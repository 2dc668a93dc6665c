import AttoATT

/// An endless sequence of hostile PDUs: known opcodes with likely handles, lengths around limits, and
/// random octets. The same seed gives the same PDUs.
///
/// Extreme handles and lengths and unknown opcodes are far more frequent than in random octets,
/// because other stacks failed there.
public struct AttackGenerator: Sendable {
  private var random: SplitMix64
  private let allowsWrites: Bool
  private let mtu: Int

  /// Creates a generator.
  ///
  /// - Parameters:
  ///   - allowsWrites: whether to include PDUs that ``Attack/mayWrite(_:)``.
  ///   - mtu: the ATT_MTU, at least 23. Lengths go up to one octet more.
  public init(seed: UInt64, allowsWrites: Bool, mtu: Int = 23) {
    random = SplitMix64(seed: seed)
    self.allowsWrites = allowsWrites
    self.mtu = max(23, mtu)
  }

  /// Returns the next PDU, of 0 to ATT_MTU + 1 octets.
  public mutating func next() -> [UInt8] {
    while true {
      let pdu = [UInt8](draw().prefix(mtu + 1))
      if allowsWrites || !Attack.mayWrite(pdu) { return pdu }
    }
  }

  private mutating func octet(_ bound: Int = 256) -> UInt8 { UInt8(random.below(bound)) }

  private mutating func some(_ count: Int, below bound: Int = 256) -> [UInt8] {
    var octets: [UInt8] = []
    for _ in 0..<count { octets.append(octet(bound)) }
    return octets
  }

  private mutating func handle() -> [UInt8] {
    switch random.below(8) {
    case 0: [0, 0]
    case 1: [0xFF, 0xFF]
    case 2: some(2)
    default: [octet(0x40), 0]
    }
  }

  private mutating func handles() -> [UInt8] {
    var octets: [UInt8] = []
    for _ in 0..<random.below(10) { octets += handle() }
    return octets
  }

  private mutating func type() -> [UInt8] {
    switch random.below(6) {
    case 0: some(16)
    case 1: some(2)
    case 2: [octet(3), 0x29]
    case 3: [octet(), 0x2A]
    default: [octet(4), 0x28]
    }
  }

  private mutating func length() -> Int {
    switch random.below(6) {
    case 0: 0
    case 1: 1
    case 2: mtu - 5
    case 3: mtu - 2
    case 4: mtu + 1
    default: random.below(mtu + 2)
    }
  }

  private mutating func draw() -> [UInt8] {
    var pdu: [UInt8]
    switch random.below(18) {
    case 0: pdu = [0x02] + some(2)
    case 1: pdu = [0x04] + handle() + handle()
    case 2:
      pdu = [0x06] + handle() + handle() + type()
      pdu += some(random.below(8), below: 4)
    case 3, 4: pdu = [0x08] + handle() + handle() + type()
    case 5: pdu = [0x10] + handle() + handle() + type()
    case 6: pdu = [0x0A] + handle()
    case 7: pdu = [0x0C] + handle() + [octet(), octet(4)]
    case 8: pdu = [0x0E] + handles()
    case 9: pdu = [0x20] + handles()
    case 10: pdu = [0x12] + handle() + some(length())
    case 11: pdu = [0x52] + handle() + some(length())
    case 12: pdu = [0x16] + handle() + [octet(), octet(4)] + some(length())
    case 13: pdu = [0x18] + some(random.below(3), below: 3)
    case 14: pdu = [0xD2] + handle() + some(length())
    case 15: pdu = [octet()] + some(length())
    // PDUs that only servers send.
    case 16: pdu = [[0x01, 0x0B, 0x1B, 0x1D, 0x1E, 0x23][random.below(6)]] + some(length())
    default: pdu = some(length())
    }
    // One PDU in eight loses or gains octets at its end.
    switch random.below(16) {
    case 0: pdu.removeLast(min(pdu.count, 1 + random.below(3)))
    case 1: pdu += some(1 + random.below(3))
    default: break
    }
    return pdu
  }
}
