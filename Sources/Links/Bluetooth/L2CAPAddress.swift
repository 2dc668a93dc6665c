/// Which of this machine's radios a socket uses.
public enum L2CAPSource: Hashable, Sendable {
  /// The kernel's choice; listening, all that have a public address.
  case any
  /// The adapter `hciN`, by its public address.
  case adapter(UInt16)
  /// The adapter with this address: for those that have only a random one.
  case address(BluetoothAddress)
}

/// A peer's ATT channel (L2CAP CID 4): `le:AA:BB:CC:DD:EE:FF/random@hci1`.
public struct L2CAPAddress: Hashable, Sendable, CustomStringConvertible {
  /// Whom to connect to.
  public let peer: BluetoothAddress
  /// The adapter to connect from.
  public let source: L2CAPSource

  /// The peer, by way of this adapter.
  public init(_ peer: BluetoothAddress, source: L2CAPSource = .any) {
    self.peer = peer
    self.source = source
  }

  /// As a person writes it.
  public var description: String { "le:\(peer)\(source.suffix)" }
}

extension L2CAPSource {
  /// How the source is written behind an address.
  var suffix: String {
    switch self {
    case .any: ""
    case .adapter(let index): "@hci\(index)"
    case .address(let address): "@\(address)"
    }
  }
}
