public import AttoLinks
import AttoRadio

/// A key that pairing has made, to be stored and loaded into the kernel at its next start.
public enum BondKey: Hashable, Sendable {
  /// Encrypts links.
  case longTerm(LongTermKey)
  /// Resolves private addresses.
  case identity(IdentityResolvingKey)
  /// Signs writes.
  case signature(SignatureKey)
}

/// A key that encrypts later links (struct mgmt_ltk_info). Vol 3, Part H, 2.4.3.
public struct LongTermKey: Hashable, Sendable {
  /// The peer.
  public var peer: BluetoothAddress
  /// How it was made: 0 legacy, 1 legacy and authenticated, 2 Secure Connections, 3 Secure
  /// Connections and authenticated, 4 with debug keys. Unknown values are kept.
  public var kind: UInt8
  /// Whether this end encrypts with it as central. Legacy pairing makes one for each role.
  public var isCentral: Bool
  /// The size of the key: 7 to 16 octets.
  public var keySize: UInt8
  /// EDIV, 0 for Secure Connections.
  public var diversifier: UInt16
  /// Rand, 0 for Secure Connections.
  public var random: UInt64
  /// 16 octets, in the kernel's order.
  public var value: [UInt8]

  /// A key with these values.
  public init(
    peer: BluetoothAddress, kind: UInt8, isCentral: Bool, keySize: UInt8, diversifier: UInt16,
    random: UInt64, value: [UInt8]
  ) {
    self.peer = peer
    self.kind = kind
    self.isCentral = isCentral
    self.keySize = keySize
    self.diversifier = diversifier
    self.random = random
    self.value = value
  }

  init(_ reader: inout ManagementReader) {
    peer = reader.address()
    kind = reader.integer()
    isCentral = reader.flag()
    keySize = reader.integer()
    diversifier = reader.integer()
    random = reader.integer()
    value = reader.octets(16)
  }

  /// An entry of MGMT_OP_LOAD_LONG_TERM_KEYS. Traps unless the value has 16 octets.
  var octets: [UInt8] {
    precondition(value.count == 16, "a key has 16 octets")
    return peer.managementOctets + [kind, isCentral ? 1 : 0, keySize] + diversifier.octets(2)
      + random.octets(8) + value
  }
}

/// A key that resolves the private addresses of a peer (struct mgmt_irk_info). Vol 3, Part H,
/// 2.4.2.1.
public struct IdentityResolvingKey: Hashable, Sendable {
  /// The identity address.
  public var peer: BluetoothAddress
  /// 16 octets, in the kernel's order.
  public var value: [UInt8]

  /// A key with these values.
  public init(peer: BluetoothAddress, value: [UInt8]) {
    self.peer = peer
    self.value = value
  }

  init(_ reader: inout ManagementReader) {
    peer = reader.address()
    value = reader.octets(16)
  }

  /// An entry of MGMT_OP_LOAD_IRKS. Traps unless the value has 16 octets.
  var octets: [UInt8] {
    precondition(value.count == 16, "a key has 16 octets")
    return peer.managementOctets + value
  }
}

/// A key that signs writes without encryption (struct mgmt_csrk_info). Vol 3, Part H, 2.4.2.2.
public struct SignatureKey: Hashable, Sendable {
  /// The peer.
  public var peer: BluetoothAddress
  /// 0 is the key of this end, 1 that of the peer; 2 and 3 are the same, authenticated. Unknown values
  /// are kept.
  public var kind: UInt8
  /// 16 octets, in the kernel's order.
  public var value: [UInt8]

  /// A key with these values.
  public init(peer: BluetoothAddress, kind: UInt8, value: [UInt8]) {
    self.peer = peer
    self.kind = kind
    self.value = value
  }

  init(_ reader: inout ManagementReader) {
    peer = reader.address()
    kind = reader.integer()
    value = reader.octets(16)
  }
}
