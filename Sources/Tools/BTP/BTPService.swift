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
  package var commands: [BTPCommandSupport] {
    switch self {
    case .core: Self.coreCommands
    case .gap: Self.gapCommands
    case .gatt: Self.gattCommands
    case .l2cap: Self.l2capCommands
    case .gattClient: Self.gattClientCommands
    case .gattServer: Self.gattServerCommands
    }
  }

  func supports(_ opcode: UInt8) -> Bool {
    commands.contains { $0.opcode == opcode && $0.isSupported }
  }

  /// One bit for each supported command, bit 0 of the first octet for opcode 0.
  var supportedCommands: [UInt8] {
    Self.bits(commands.filter(\.isSupported).map { Int($0.opcode) })
  }

  /// One bit for each service.
  static var supportedServices: [UInt8] { bits(allCases.map { Int($0.rawValue) }) }

  private static func bits(_ numbers: [Int]) -> [UInt8] {
    var octets = [UInt8](repeating: 0, count: (numbers.max() ?? 0) / 8 + 1)
    for number in numbers { octets[number / 8] |= 1 << (number % 8) }
    return octets
  }
}

/// A command of the protocol, and how much of it this end supports.
package struct BTPCommandSupport: Sendable {
  package let opcode: UInt8
  package let name: String
  let support: Support

  enum Support: Sendable {
    case full
    /// Supported except for this.
    case partly(String)
    /// Not supported, for this reason.
    case none(String)
  }

  init(_ opcode: UInt8, _ name: String, _ support: Support = .full) {
    self.opcode = opcode
    self.name = name
    self.support = support
  }

  var isSupported: Bool { if case .none = support { false } else { true } }

  /// `yes`, `partly` or `no`, and the reason.
  package var text: (word: String, note: String) {
    switch support {
    case .full: ("yes", "")
    case .partly(let note): ("partly", note)
    case .none(let note): ("no", note)
    }
  }
}
