/// What a server holds at most, so that no client makes it grow without bound.
public struct ServerLimits: Equatable, Sendable {
  /// Prepared writes of one client; one more is answered with Prepare Queue Full.
  public var preparedWritesPerClient: Int
  /// Octets prepared by one client; likewise.
  public var preparedBytesPerClient: Int
  /// Octets prepared by all clients; likewise.
  public var preparedBytes: Int
  /// Clients at a time; one more is refused when it connects.
  public var clients: Int
  /// Handlers that take their time and have not ended, those of clients that have gone among them:
  /// a request to one more is answered with Insufficient Resources, a command to one is dropped.
  /// Kept by those who run handlers: `LocalServer` of the module Atto.
  public var handlers: Int

  /// One with these values; its properties say what each means.
  public init(
    preparedWritesPerClient: Int = 128, preparedBytesPerClient: Int = 4096,
    preparedBytes: Int = 65536, clients: Int = 1024, handlers: Int = 4096
  ) {
    self.preparedWritesPerClient = preparedWritesPerClient
    self.preparedBytesPerClient = preparedBytesPerClient
    self.preparedBytes = preparedBytes
    self.clients = clients
    self.handlers = handlers
  }
}
