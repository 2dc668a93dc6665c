package import AttoLinks

/// An advertisement, which is on the air until it is stopped or released. Keeps its adapter open.
public final class Advertisement: Sendable {
  private let id: UInt64
  private let adapter: Adapter

  init(_ id: UInt64, on adapter: Adapter) {
    self.id = id
    self.adapter = adapter
  }

  deinit { stop() }

  /// The connections that centrals make, in order. Ends with the advertisement. One that stops when
  /// connected delivers its one link first.
  ///
  /// At most ``Adapter/queueLimit`` connections wait here, and further centrals until there is room.
  /// Several tasks may iterate: each link goes to one of them.
  public var links: IncomingLinks { IncomingLinks(advertisement: self) }

  /// Replaces what is on the air. Connections stay, and tasks that wait for one go on waiting.
  ///
  /// - Throws: what ``Adapter/advertise(_:)`` throws, and `closed` if the advertisement has ended.
  public func update(_ parameters: AdvertisingParameters) async throws(RadioError) {
    try await adapter.update(id, parameters)
  }

  /// Has `body` called on the loop with what keeps connections from being accepted, such as EMFILE:
  /// once until one is accepted again.
  package func onFailure(_ body: @escaping @Sendable (LinkError) -> Void) {
    let id = id
    adapter.later { $0.advertisements[id]?.fail = body }
  }

  /// Ends the advertisement; more than once does nothing. Connections that were not taken from
  /// ``links`` are closed. The others live on.
  public func stop() {
    let id = id
    adapter.later { $0.stopAdvertising(id) }
  }

  fileprivate func nextLink() async -> ConnectedLink? { await adapter.nextLink(id) }
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
