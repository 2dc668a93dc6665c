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

  /// What a PDU begins with.
  private enum Start {
    case opcode(Opcode)
    case anyOpcode
    /// Of PDUs that only servers send.
    case serversOpcode
    case nothing
  }
  private static let starts: [Start] =
    [
      Opcode.exchangeMTURequest, .findInformationRequest, .findByTypeValueRequest,
      .readByTypeRequest, .readByTypeRequest, .readByGroupTypeRequest, .readRequest,
      .readBlobRequest, .readMultipleRequest, .readMultipleVariableRequest, .writeRequest,
      .writeCommand, .prepareWriteRequest, .executeWriteRequest, .signedWriteCommand,
    ].map { .opcode($0) } + [.anyOpcode, .serversOpcode, .nothing]
  private static let serversOpcodes: [Opcode] = [
    .errorResponse, .readResponse, .handleValueNotification, .handleValueIndication,
    .handleValueConfirmation, .multipleHandleValueNotification,
  ]

  private mutating func parameters(of opcode: Opcode) -> [UInt8] {
    switch opcode {
    case .exchangeMTURequest: some(2)
    case .findInformationRequest: handle() + handle()
    case .findByTypeValueRequest: handle() + handle() + type() + some(random.below(8), below: 4)
    case .readByTypeRequest, .readByGroupTypeRequest: handle() + handle() + type()
    case .readRequest: handle()
    case .readBlobRequest: handle() + [octet(), octet(4)]
    case .readMultipleRequest, .readMultipleVariableRequest: handles()
    case .writeRequest, .writeCommand, .signedWriteCommand: handle() + some(length())
    case .prepareWriteRequest: handle() + [octet(), octet(4)] + some(length())
    case .executeWriteRequest: some(random.below(3), below: 3)
    default: some(length())
    }
  }

  private mutating func draw() -> [UInt8] {
    var pdu: [UInt8] = []
    switch Self.starts[random.below(Self.starts.count)] {
    case .opcode(let opcode): pdu = [opcode.rawValue] + parameters(of: opcode)
    case .anyOpcode: pdu = [octet()] + some(length())
    case .serversOpcode:
      let opcode = Self.serversOpcodes[random.below(Self.serversOpcodes.count)]
      pdu = [opcode.rawValue] + some(length())
    case .nothing: pdu = some(length())
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
