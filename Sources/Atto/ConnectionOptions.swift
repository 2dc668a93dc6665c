import ATT

/// How a connection is made and what it may hold.
public struct ConnectionOptions: Sendable {
  /// What this end can receive (ATT_MTU is the lesser of both ends'): 23 to 65535. It is said
  /// only when the MTU is exchanged.
  public var receiveMTU: Int = 517
  /// Whether the MTU is exchanged before the connection is given to the caller. Otherwise
  /// nothing is on the wire but what is asked for.
  public var exchangesMTU = false
  /// How long opening the link may take.
  public var connectTimeout: Duration = .seconds(30)
  /// How long a response or confirmation may take. Vol 3, Part F, 3.3.3 says 30 s.
  public var transactionTimeout: Duration = .seconds(30)
  /// The security that the link shall have before anything is asked.
  public var security: SecurityLevel = .low
  /// Up to which level the link is raised when the peer refuses a request for want of security
  /// (Insufficient Authentication, Insufficient Encryption, Encryption Key Size Too Short); the
  /// request is then repeated. Step by step, one step for each refusal: a bond, or Just Works,
  /// before what a person must see or type. nil: never, and callers get the refusal.
  public var securityOnDemand: SecurityLevel?
  /// How long each step may take; a person may have to look and to type.
  public var securityTimeout: Duration = .seconds(30)
  /// Octets of commands and notifications that wait for the link before a writer must.
  public var outboxLimit = 8192
  /// Values that wait for one consumer before the peer is held back.
  public var valueLimit = 1024
  /// Octets that may wait in the kernel to be sent, as it counts them: some 700 to 1000 for each
  /// short PDU, and at least 4608. What is sent waits behind what waits there, so fewer mean that
  /// requests and fresh values overtake less. nil: the kernel's default, some 212,992.
  public var sendBuffer: Int?
  /// Sees every PDU on the loop's thread, before it has any effect. Must be quick.
  public var monitor: (@Sendable (MonitoredPDU) -> Void)?

  /// The defaults.
  public init() {}

  var bearer: BearerConfiguration {
    BearerConfiguration(
      receiveMTU: receiveMTU, transactionTimeout: transactionTimeout, outboxLimit: outboxLimit)
  }
}

/// A PDU as a monitor sees it.
public struct MonitoredPDU: Sendable {
  /// Which way a PDU went.
  public enum Direction: Sendable {
    /// To the peer.
    case sent
    /// From the peer.
    case received
  }
  /// Which way it went.
  public let direction: Direction
  /// The PDU as it is on the link, its opcode first.
  public let octets: [UInt8]
  /// The ATT_MTU at that moment.
  public let mtu: Int
  /// The loop's clock.
  public let time: Instant
}
