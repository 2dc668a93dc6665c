public import Links

/// A key that pairing has made, to be stored and loaded into the kernel at the next start.
public enum BondKey: Hashable, Sendable {
  /// Encrypts links.
  case longTerm(LongTermKey)
  /// Tells whose a resolvable private address is.
  case identity(IdentityResolvingKey)
  /// Signs writes.
  case signature(SignatureKey)
}

/// What encrypts a link again (struct mgmt_ltk_info). Vol 3, Part H, 2.4.3.
public struct LongTermKey: Hashable, Sendable {
  /// Whose link it encrypts.
  public var peer: BluetoothAddress
  /// How it was made: 0 legacy, 1 legacy and authenticated, 2 Secure Connections, 3 Secure
  /// Connections and authenticated, 4 with debug keys. The space is open.
  public var kind: UInt8
  /// Whether this end encrypts with it as central. Legacy pairing makes one for each role.
  public var isCentral: Bool
  /// Octets of the key that count: 7 to 16.
  public var keySize: UInt8
  /// EDIV, 0 for Secure Connections.
  public var diversifier: UInt16
  /// Rand, 0 for Secure Connections.
  public var random: UInt64
  /// 16 octets, in the kernel's order.
  public var value: [UInt8]

  static let length = 36

  /// One with these values; its properties say what each means.
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

  init?(_ reader: inout ManagementReader) {
    let peer = reader.address()
    kind = reader.integer()
    let role: UInt8 = reader.integer()
    isCentral = role != 0
    keySize = reader.integer()
    diversifier = reader.integer()
    random = reader.integer()
    value = reader.octets(16)
    guard let peer, !reader.isShort else { return nil }
    self.peer = peer
  }

  /// As MGMT_OP_LOAD_LONG_TERM_KEYS wants it. Traps unless the value has 16 octets.
  var octets: [UInt8] {
    precondition(value.count == 16, "a key has 16 octets")
    return peer.managementOctets + [kind, isCentral ? 1 : 0, keySize] + diversifier.octets(2)
      + random.octets(8) + value
  }
}

/// What tells a peer behind its changing addresses (struct mgmt_irk_info). Vol 3, Part H, 2.4.2.1.
public struct IdentityResolvingKey: Hashable, Sendable {
  /// The identity address.
  public var peer: BluetoothAddress
  /// 16 octets, in the kernel's order.
  public var value: [UInt8]

  static let length = 23

  /// One with these values; its properties say what each means.
  public init(peer: BluetoothAddress, value: [UInt8]) {
    self.peer = peer
    self.value = value
  }

  init?(_ reader: inout ManagementReader) {
    let peer = reader.address()
    value = reader.octets(16)
    guard let peer, !reader.isShort else { return nil }
    self.peer = peer
  }

  /// As MGMT_OP_LOAD_IRKS wants it. Traps unless the value has 16 octets.
  var octets: [UInt8] {
    precondition(value.count == 16, "a key has 16 octets")
    return peer.managementOctets + value
  }
}

/// What signs writes without encryption (struct mgmt_csrk_info). Vol 3, Part H, 2.4.2.2.
public struct SignatureKey: Hashable, Sendable {
  /// Whose writes, or to whom.
  public var peer: BluetoothAddress
  /// 0 this end's own, 1 the peer's; 2 and 3 the same, authenticated. The space is open.
  public var kind: UInt8
  /// 16 octets, in the kernel's order.
  public var value: [UInt8]

  /// One with these values; its properties say what each means.
  public init(peer: BluetoothAddress, kind: UInt8, value: [UInt8]) {
    self.peer = peer
    self.kind = kind
    self.value = value
  }

  init?(_ reader: inout ManagementReader) {
    let peer = reader.address()
    kind = reader.integer()
    value = reader.octets(16)
    guard let peer, !reader.isShort else { return nil }
    self.peer = peer
  }
}
