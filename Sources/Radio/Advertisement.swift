package import Links

/// An advertisement that is in the air until it is stopped or released.
public final class Advertisement: Sendable {
  /// What an adapter does for its advertisement.
  struct Actions: Sendable {
    var nextLink: @Sendable () async -> ConnectedLink?
    var update: @Sendable (AdvertisingParameters) async throws(RadioError) -> Void
    var stop: @Sendable () -> Void
    var tellFailures: @Sendable (_ body: @escaping @Sendable (LinkError) -> Void) -> Void
  }

  private let actions: Actions

  init(_ actions: Actions) { self.actions = actions }

  deinit { actions.stop() }

  /// The connections that centrals make, in order. Ends with the advertisement; one that stops
  /// when connected gives its one link first.
  ///
  /// A few connections wait here until they are taken, and further centrals until there is room.
  /// Several tasks may iterate: each link goes to one of them.
  public var links: IncomingLinks { IncomingLinks(advertisement: self) }

  /// Puts something else in the air. The connections that were made stay, and waiting for more
  /// goes on.
  ///
  /// - Throws: what `Adapter.advertise` throws, and `closed` if the advertisement has ended.
  public func update(_ parameters: AdvertisingParameters) async throws(RadioError) {
    try await actions.update(parameters)
  }

  /// Has `body` called on the loop with what keeps centrals from being taken, such as EMFILE: once
  /// until one is taken again.
  package func tellFailures(to body: @escaping @Sendable (LinkError) -> Void) {
    actions.tellFailures(body)
  }

  /// Ends the advertisement; more than once does nothing. Connections that nobody has taken are
  /// closed, those that were taken live on.
  public func stop() { actions.stop() }

  fileprivate func nextLink() async -> ConnectedLink? { await actions.nextLink() }
}

/// The connections that centrals make to an advertiser. Holds the advertisement.
public struct IncomingLinks: AsyncSequence, Sendable {
  public typealias Failure = Never
  let advertisement: Advertisement

  public func makeAsyncIterator() -> Iterator { Iterator(advertisement: advertisement) }

  public struct Iterator: AsyncIteratorProtocol {
    let advertisement: Advertisement

    /// The next connection; nil when the advertisement has ended or the task is cancelled.
    public func next() async -> ConnectedLink? { await advertisement.nextLink() }

    public func next(isolation actor: isolated (any Actor)?) async -> ConnectedLink? {
      await advertisement.nextLink()
    }
  }
}
