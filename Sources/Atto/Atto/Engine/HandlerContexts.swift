import AttoATT
import AttoGATT

/// A read request that the application answers.
public struct ReadRequestContext: Equatable, Sendable {
  /// The client that reads.
  public let client: ClientID
  /// The attribute.
  public let handle: AttributeHandle
  /// The offset of the first octet to return.
  public let offset: Int
}

/// A write that the application accepts or refuses.
public struct WriteRequestContext: Equatable, Sendable {
  /// The client that writes.
  public let client: ClientID
  /// The attribute.
  public let handle: AttributeHandle
  /// The written octets: a part of the value, for a prepared write.
  public let value: [UInt8]
  /// Where the value begins; other than 0 only in prepared writes.
  public let offset: Int
  /// Whether it is a command, which has no response.
  public let isCommand: Bool
}

/// A client that asks for access to an attribute that requires authorization.
public struct AuthorizationRequest: Equatable, Sendable {
  /// The client.
  public let client: ClientID
  /// The attribute.
  public let handle: AttributeHandle
  /// Whether it would write, rather than read.
  public let isWrite: Bool
}

/// The origin of a written value.
public struct WriteOrigin: Equatable, Sendable {
  /// The client that writes.
  public let client: ClientID
  /// The attribute.
  public let handle: AttributeHandle
  /// Where the value begins; other than 0 only in prepared writes.
  public let offset: Int
  /// Whether it is a command, which has no response.
  public let isCommand: Bool
}
