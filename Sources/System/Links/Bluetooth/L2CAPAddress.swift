/// The adapter of this machine that a socket uses.
public enum L2CAPSource: Hashable, Sendable {
  /// The kernel's choice; for a listener, all adapters that have a public address.
  case any
  /// The adapter `hciN`, by its public address.
  case adapter(UInt16)
  /// The adapter with this address: for adapters that have only a random one.
  case address(BluetoothAddress)

  /// The source as it is written behind an address.
  package var suffix: String {
    switch self {
    case .any: ""
    case .adapter(let index): "@hci\(index)"
    case .address(let address): "@\(address)"
    }
  }

  /// The number of the adapter with this name, `hciN`; nil for anything else.
  package static func index(ofAdapter name: some StringProtocol) -> UInt16? {
    guard name.hasPrefix("hci"), let index = UInt16(name.dropFirst(3)), name == "hci\(index)" else {
      return nil
    }
    return index
  }
}

/// A peer and the adapter to reach it from: `le:AA:BB:CC:DD:EE:FF/random@hci1`.
public struct L2CAPAddress: Hashable, Sendable, CustomStringConvertible {
  /// The peer to connect to.
  public let peer: BluetoothAddress
  /// The adapter to connect from.
  public let source: L2CAPSource

  /// Time after which a link has ended whose last socket was closed: the kernel keeps it for 2 s, and a
  /// new socket gets it again.
  package static let linkKeptTime: Duration = .seconds(3)

  /// Creates an address.
  public init(_ peer: BluetoothAddress, source: L2CAPSource = .any) {
    self.peer = peer
    self.source = source
  }

  /// The address as a person writes it.
  public var description: String { "le:\(peer)\(source.suffix)" }
}
