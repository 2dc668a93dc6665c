extension ConnectionOptions {
  /// What a server keeps for a client that takes notifications more slowly than other clients do.
  ///
  /// See ``LocalServer/notify(_:of:to:)``.
  public struct Backlog: Equatable, Sendable {
    /// What happens when a further value does not fit.
    public enum Overflow: Equatable, Sendable {
      /// The client loses its oldest value: ``ServedEvent/valuesDropped(_:peer:count:)``.
      case dropsOldest
      /// The client loses its connection: ``ServedEvent/evicted(_:peer:_:)``.
      case disconnects
    }

    /// The most values.
    public var values = 1024
    /// The most octets of values. One value may be longer.
    public var octets = 16_384
    /// What happens when a further value does not fit.
    public var overflow = Overflow.dropsOldest

    /// Creates a backlog of at most so many values and octets.
    public init(
      values: Int = 1024, octets: Int = 16_384, overflow: Overflow = .dropsOldest
    ) {
      self.values = values
      self.octets = octets
      self.overflow = overflow
    }
  }
}
