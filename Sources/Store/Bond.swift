import Atto

/// A peer that an adapter is bonded with, and what is kept of it.
public struct Bond: Equatable, Sendable {
  /// The adapter's own identity address.
  public var adapter: BluetoothAddress
  /// The peer's identity address.
  public var peer: BluetoothAddress
  /// When the first of its keys was kept: seconds since 1970.
  public var since: Int64
  /// One, or one for each role where they paired in the older way.
  public var longTermKeys: [LongTermKey] = []
  /// Tells the peer by its private addresses; nil if it has given none.
  public var identityKey: IdentityResolvingKey?
  /// What we sign with, and the next counter.
  public var ownSignature: SigningState?
  /// What the peer signs with, and the least counter that is accepted.
  public var peerSignature: SigningState?
  /// What our server remembers of it; nil if it never was its client.
  public var client: ClientRecord?

  /// A signature key with its counter.
  public struct SigningState: Equatable, Sendable {
    /// Signs.
    public var key: SignatureKey
    /// The next counter.
    public var counter: UInt32

    /// One with these values; its properties say what each means.
    public init(key: SignatureKey, counter: UInt32) {
      self.key = key
      self.counter = counter
    }
  }
}

extension SignatureKey {
  /// Whether this end signs with it. The kernel counts local keys 0 and 2, the peer's 1 and 3.
  public var isOurs: Bool { kind & 1 == 0 }

  /// As ``Connection/writeSigned(_:_:counter:key:)`` wants it: most significant octet first.
  public var mostSignificantFirst: [UInt8] { value.reversed() }
}

extension LongTermKey {
  /// LE Secure Connections made it, for both roles.
  var isSecureConnections: Bool { kind >= 2 }
}
