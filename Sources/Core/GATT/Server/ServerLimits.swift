/// The limits of a server, so that clients cannot make it grow without bound.
public struct ServerLimits: Equatable, Sendable {
  /// Prepared writes of one client. Another one gets Prepare Queue Full.
  public var preparedWritesPerClient: Int
  /// Octets prepared by one client. More get Prepare Queue Full.
  public var preparedBytesPerClient: Int
  /// Octets that each client can prepare whatever the others have prepared: its share.
  public var preparedBytesShare: Int
  /// Octets prepared by all clients beyond their shares. More get Prepare Queue Full.
  public var preparedBytes: Int
  /// Connected clients. Another one is refused.
  public var clients: Int
  /// Asynchronous handlers in progress, including those of disconnected clients. Another request
  /// gets Insufficient Resources, another command is dropped. `LocalServer` of the module Atto
  /// applies it.
  public var handlers: Int

  /// Creates a value with these properties.
  public init(
    preparedWritesPerClient: Int = 128, preparedBytesPerClient: Int = 4096,
    preparedBytesShare: Int = 512, preparedBytes: Int = 65536, clients: Int = 1024,
    handlers: Int = 4096
  ) {
    self.preparedWritesPerClient = preparedWritesPerClient
    self.preparedBytesPerClient = preparedBytesPerClient
    self.preparedBytesShare = preparedBytesShare
    self.preparedBytes = preparedBytes
    self.clients = clients
    self.handlers = handlers
  }
}
