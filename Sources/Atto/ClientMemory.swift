import GATT
import Links

/// What keeps a server's share in bonded clients from one connection to the next.
///
/// Called on the server's loop, which waits: be quick. A client is named by the addresses of its
/// link, and only one that the memory knows as bonded has anything kept.
///
/// What a bonded client has configured holds as soon as it connects; permissions stand guard as
/// for any other. What it changes is kept if its link is encrypted, for only then it has shown
/// that it is who its address says. Vol 3, Part G, 2.5.2.1 and 3.3.3.3.
public protocol ClientMemory: Sendable {
  /// What is kept of a client; nil if it is not bonded.
  func recall(_ addresses: LinkAddresses) -> RememberedClient?

  /// Keeps a client's record, if it is bonded. It should be on the disk on return: the response to
  /// the write that has changed it is sent after that.
  func remember(_ record: ClientRecord, of addresses: LinkAddresses)

  /// Keeps the least sign counter that will be accepted of a client. False if that failed, or it
  /// was no less before: the signed write has no effect then.
  func accepts(signCounter: UInt32, of addresses: LinkAddresses) -> Bool
}

/// What is kept of a bonded client.
public struct RememberedClient: Equatable, Sendable {
  /// nil if it never was a client.
  public var record: ClientRecord?
  /// Its CSRK, 16 octets, most significant first; nil if it has none.
  public var signingKey: [UInt8]?
  /// The least sign counter that is accepted.
  public var signCounter: UInt32

  /// One with these values; its properties say what each means.
  public init(record: ClientRecord?, signingKey: [UInt8]? = nil, signCounter: UInt32 = 0) {
    self.record = record
    self.signingKey = signingKey
    self.signCounter = signCounter
  }
}
