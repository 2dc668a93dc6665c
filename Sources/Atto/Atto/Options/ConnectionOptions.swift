import AttoATT
import AttoLinks

/// Options and limits of a connection.
public struct ConnectionOptions: Sendable {
  /// The longest PDU that this end can receive, 23 to 65535 octets. ATT_MTU is the lesser of both
  /// ends' limits once it was exchanged.
  public var receiveMTU: Int = 517
  /// Whether the MTU is exchanged before the connection is returned. Otherwise nothing is sent
  /// that the caller does not ask for.
  public var exchangesMTU = false
  /// The time limit for opening the link.
  public var connectTimeout: Duration = .seconds(30)
  /// The time limit for a response or confirmation: 30 s in Vol 3, Part F, 3.3.3.
  public var transactionTimeout: Duration = .seconds(30)
  /// The time limit for a whole procedure of several requests, from the call that starts it; nil for
  /// none. ``transactionTimeout`` bounds each of its requests, of which a discovery may take
  /// thousands. A procedure that reaches the limit throws ``AttoError/procedureTimeout(after:)`` and
  /// sends nothing more; the connection stays open.
  public var procedureTimeout: Duration?
  /// The security level that the link must reach before the first request.
  public var security: SecurityLevel = .low
  /// The highest level to which the link is raised when the peer refuses a request because of
  /// Insufficient Authentication, Insufficient Encryption or Encryption Key Size Too Short. The
  /// request is then repeated. Each refusal raises the link by one level: a bond or Just Works come
  /// before a passkey. nil: the link is not raised, and callers get the refusal.
  public var securityOnDemand: SecurityLevel?
  /// The time limit for each step, in which a person may have to compare or type digits.
  public var securityTimeout: Duration = .seconds(30)
  /// Octets of commands and notifications that wait for the link before writers wait.
  public var outboxLimit = 8192
  /// What a server keeps for this client while it takes notifications more slowly than other clients.
  /// nil: nothing, and ``LocalServer/notify(_:of:to:)`` waits for it, with all other clients.
  public var backlog: Backlog? = Backlog()
  /// Values that wait for one consumer before the peer is held back.
  public var valueLimit = 1024
  /// Octets of values that wait for one consumer before the peer is held back, with 17 for each value.
  public var valueOctetLimit = 1 << 20
  /// The size of the kernel's send buffer, as the kernel counts: 700 to 1000 octets for a short PDU,
  /// at least 4608 in all. Requests and new values are sent after those in the buffer, so a smaller
  /// one reduces their delay. nil: the kernel's default, usually 212,992.
  public var sendBuffer: Int?
  /// The PHY to ask the controller for, in both directions, on a link of the kernel's radio. The link keeps its PHY
  /// if the peer does not agree. The kernel has to have this choice (Linux 7.3); opening a connection fails
  /// otherwise. nil: the controller's choice.
  public var phy: LinkPHY.Kind?
  /// How many enhanced bearers a connection may have beside the unenhanced one; 0 to
  /// ``maximumEnhancedBearers``. Vol 3, Part G, 5.3.
  ///
  /// ``Connection/connect(to:options:server:adapter:loop:)`` opens this many if the peer offers
  /// them, after the link has been encrypted. A link to a peer that does not is left as it is.
  /// ``Connection/bearerObstacle`` says why there are none; requests then use the unenhanced bearer.
  /// Bearers that end are not opened again. Procedures use the bearers whose ATT_MTU is not less
  /// than that of the unenhanced bearer, so exchange the MTU too (``exchangesMTU``).
  ///
  /// A server accepts this many from each client, and says so in Server Supported Features if its
  /// database has that characteristic: see `Database(name:appearance:serverFeatures:)`. If its kernel
  /// has no enhanced bearers, ``ServerListener/bearerFailure`` says so, and clients have the unenhanced one.
  public var enhancedBearers = 0
  /// The most enhanced bearers: as many as one request of L2CAP opens (Vol 3, Part A, 4.25).
  public static let maximumEnhancedBearers = 5
  /// The smallest ATT_MTU of an enhanced bearer. Vol 3, Part G, 5.3.1.
  static let minimumEnhancedMTU = 64
  /// Opens and accepts the channels of enhanced bearers.
  package var bearerSource = BearerSource.radio
  /// Called with each PDU on the loop's thread, before it has an effect. Must be quick.
  public var monitor: (@Sendable (MonitoredPDU) -> Void)?
  /// Called on the loop's thread with each link that is open. The function that it returns is called
  /// with the events of that link, before ``monitor``.
  package var linkMonitor: (@Sendable (any Link) -> @Sendable (MonitoredEvent) -> Void)?

  /// The default options.
  public init() {}

  /// The longest PDU that this end receives on an enhanced bearer.
  var channelMTU: Int { max(receiveMTU, Self.minimumEnhancedMTU) }

  var bearer: BearerConfiguration {
    BearerConfiguration(
      receiveMTU: receiveMTU, transactionTimeout: transactionTimeout, outboxLimit: outboxLimit)
  }
}

extension ConnectionOptions {
  /// Joins both monitors for a link; nil if there is none.
  func monitor(of link: any Link) -> (@Sendable (MonitoredEvent) -> Void)? {
    let linkMonitor = linkMonitor?(link)
    guard linkMonitor != nil || monitor != nil else { return nil }
    return { [monitor] event in
      linkMonitor?(event)
      if case .pdu(let pdu) = event { monitor?(pdu) }
    }
  }
}

/// An event of one link, as shown to a monitor.
package enum MonitoredEvent: Sendable {
  /// A PDU was sent or received.
  case pdu(MonitoredPDU)
  /// The link has ended for this reason.
  case ended(AttoError)
}

/// A PDU, as shown to a monitor.
public struct MonitoredPDU: Sendable {
  /// The direction of a PDU.
  public enum Direction: Sendable {
    /// To the peer.
    case sent
    /// From the peer.
    case received
  }
  /// The direction.
  public let direction: Direction
  /// The PDU, beginning with its opcode.
  public let octets: [UInt8]
  /// ATT_MTU at that time.
  public let mtu: Int
  /// The time on the loop's clock.
  public let time: Instant
  /// The number of the enhanced bearer; 0 for the unenhanced one. See ``Connection/bearers``.
  public let bearer: Int

  package init(
    direction: Direction, octets: [UInt8], mtu: Int, time: Instant, bearer: Int = 0
  ) {
    self.bearer = bearer
    self.direction = direction
    self.octets = octets
    self.mtu = mtu
    self.time = time
  }
}
