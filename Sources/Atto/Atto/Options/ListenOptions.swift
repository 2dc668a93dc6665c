public import AttoRadio

/// How a server listens for clients, and serves them.
public struct ListenOptions: Sendable {
  /// The options of each connection.
  public var connection: ConnectionOptions
  /// The advertising data and parameters, for `air:` and `le:` endpoints.
  public var advertising: AdvertisingParameters
  /// Answers when centrals pair, on `le:` and `air:` endpoints, and makes the kernel's adapter
  /// bondable. nil leaves the adapter as it is, see ``AttoRadio/Adapter/setAgent(_:)``; simulated
  /// radios then agree to every level.
  public var agent: (any PairingAgent)?
  /// The ID of a group whose members may connect to a `unix:` endpoint, mode 0660; nil: only this
  /// user and root, mode 0600.
  public var unixGroup: UInt32?
  /// How long a client may be silent before the server closes its connection, which
  /// ``ServedEvent/evicted(_:peer:_:)`` reports. It applies to clients on Unix sockets and the virtual
  /// air, and not while they are subscribed to a value. nil: no limit.
  public var idleLimit: Duration?

  /// Options with these values, and the default ones.
  public init(
    connection: ConnectionOptions = ConnectionOptions(),
    advertising: AdvertisingParameters = AdvertisingParameters(AdvertisingData()),
    agent: (any PairingAgent)? = nil
  ) {
    self.connection = connection
    self.advertising = advertising
    self.agent = agent
  }

  /// Options to advertise this, connectably, and the default ones.
  public init(advertising data: AdvertisingData) {
    self.init(advertising: AdvertisingParameters(data))
  }
}
