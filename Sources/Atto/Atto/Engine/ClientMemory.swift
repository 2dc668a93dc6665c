import AttoGATT
import AttoLinks

/// Storage for what bonded clients configure at a server.
///
/// A client is identified by the addresses of its link. Nothing is stored of clients that the
/// memory does not know as bonded.
///
/// What a bonded client has configured holds again as soon as it reconnects; permissions still
/// apply. Changes are stored only if the link is encrypted, because only then has the client
/// proved its identity. Vol 3, Part G, 2.5.2.1 and 3.3.3.3.
///
/// The functions are called on the server's loop and must return at once. Do the work elsewhere,
/// one call after another in the order in which they came, and call the completion, once, from any
/// thread. Meanwhile the server reads nothing from this client, or sends it nothing, and serves
/// the others. A `LocalServer` never waits without limit, so every completion must be called.
public protocol ClientMemory: Sendable {
  /// Looks up a client; nil if it is not bonded. The server reads the client's first request
  /// after that.
  func recall(
    _ addresses: LinkAddresses, _ completion: @escaping @Sendable (RememberedClient?) -> Void)

  /// Stores a client's record if the client is bonded. Complete when the record is durable: the
  /// response to the write that has changed it is sent after that.
  func remember(
    _ record: ClientRecord, of addresses: LinkAddresses,
    _ completion: @escaping @Sendable () -> Void)

  /// Stores the least sign counter that will be accepted from a client. Complete with true when it
  /// is durable; with false if storing failed, or if the stored one is no less: the signed write
  /// has no effect then.
  func accept(
    signCounter: UInt32, of addresses: LinkAddresses,
    _ completion: @escaping @Sendable (Bool) -> Void)
}

/// The stored state of a bonded client.
public struct RememberedClient: Equatable, Sendable {
  /// What it has configured; nil if it has never connected to the server.
  public var record: ClientRecord?
  /// Its CSRK, 16 octets, most significant first; nil if it has none.
  public var signingKey: [UInt8]?
  /// The least sign counter that is accepted.
  public var signCounter: UInt32

  /// A client with these values.
  public init(record: ClientRecord?, signingKey: [UInt8]? = nil, signCounter: UInt32 = 0) {
    self.record = record
    self.signingKey = signingKey
    self.signCounter = signCounter
  }
}
