/// A service of the protocol that this end offers. Each has a file of its own, with its commands.
package enum BTPService: UInt8, CaseIterable, Sendable {
  case core = 0
  case gap = 1
  case gatt = 2
  case l2cap = 3
  case gattClient = 6
  case gattServer = 7

  package var name: String {
    switch self {
    case .core: "Core"
    case .gap: "GAP"
    case .gatt: "GATT"
    case .l2cap: "L2CAP"
    case .gattClient: "GATT Client"
    case .gattServer: "GATT Server"
    }
  }

  /// All commands of the protocol's documents, by opcode.
  package var commands: [BTPServiceCommand] {
    switch self {
    case .core: Self.coreCommands
    case .gap: Self.gapCommands
    case .gatt: Self.gattCommands
    case .l2cap: Self.l2capCommands
    case .gattClient: Self.gattClientCommands
    case .gattServer: Self.gattServerCommands
    }
  }

  func command(_ opcode: UInt8) -> BTPServiceCommand? { commands.first { $0.opcode == opcode } }

  /// The command that each service has: one bit for each supported command, bit 0 of the first octet
  /// for opcode 0.
  var readSupportedCommands: BTPServiceCommand {
    BTPServiceCommand(0x01, "Read Supported Commands") {
      try $2.end()
      return supportedCommands
    }
  }

  var supportedCommands: [UInt8] {
    Self.bits(commands.filter { $0.handler != nil }.map { Int($0.opcode) })
  }

  /// One bit for each service.
  static var supportedServices: [UInt8] { bits(allCases.map { Int($0.rawValue) }) }

  private static func bits(_ numbers: [Int]) -> [UInt8] {
    var octets = [UInt8](repeating: 0, count: (numbers.max() ?? 0) / 8 + 1)
    for number in numbers { octets[number / 8] |= 1 << (number % 8) }
    return octets
  }
}

/// A command of the protocol: how much of it this end supports, and what carries it out.
package struct BTPServiceCommand: Sendable {
  /// Carries the command out. Returns the parameters of the response; nil if it comes later.
  ///
  /// - Throws: the `BTPStatus` of the response. Any other error is explained on standard error, and
  ///   the status is Fail.
  typealias Handler =
    @Sendable (isolated BTPTester, BTPFrame, inout BTPParameters) async throws -> [UInt8]?

  package let opcode: UInt8
  package let name: String
  /// What this end does otherwise, or why it does not support the command; empty if there is nothing
  /// to say.
  package let note: String
  /// nil: not supported.
  let handler: Handler?

  init(_ opcode: UInt8, _ name: String, except note: String = "", _ handler: @escaping Handler) {
    (self.opcode, self.name, self.note, self.handler) = (opcode, name, note, handler)
  }

  /// A command that is not supported.
  init(_ opcode: UInt8, _ name: String, missing note: String) {
    (self.opcode, self.name, self.note, handler) = (opcode, name, note, nil)
  }

  /// `yes`, `partly` or `no`.
  package var support: String { handler == nil ? "no" : note.isEmpty ? "yes" : "partly" }
}
