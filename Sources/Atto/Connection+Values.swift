import ATT
import EventLoop
import GATT

/// Values that the peer sends unasked, in order of arrival. For one consumer.
///
/// Values wait here until they are taken; when as many wait as
/// ``ConnectionOptions/valueLimit`` says, the peer is held back. Should that be impossible,
/// ``ReceivedValue/missed`` tells how many were lost, and where. Release it, or cancel its
/// task, to let go.
///
/// Ends when this end closes the connection; throws when the connection ends otherwise.
public final class ReceivedValues: AsyncSequence, Sendable {
  public typealias Element = ReceivedValue
  public typealias Failure = AttoError

  private let connection: Connection
  private let queue: LoopBound<ValueQueue>

  init(_ connection: Connection, _ queue: ValueQueue) {
    self.connection = connection
    self.queue = LoopBound(queue, connection.loop)
  }

  deinit {
    let queue = queue
    connection.withCore { $0.remove(queue.value) }
  }

  public func makeAsyncIterator() -> Iterator { Iterator(values: self) }

  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let values: ReceivedValues
    private var batch: [ReceivedValue] = []
    private var position = 0

    fileprivate init(values: ReceivedValues) { self.values = values }

    /// The next value; nil at the end.
    // In its own words: by way of the other form, a value costs a tenth more instructions.
    public mutating func next() async throws(AttoError) -> ReceivedValue? {
      if position == batch.count, try await !fetch() { return nil }
      return takeNext()
    }

    /// The next value; nil at the end. Runs where the caller does, whichever actor that is.
    ///
    /// Not `isolated` to the actor, because then the runtime would be asked before and after each
    /// value whether it runs there.
    public nonisolated(nonsending) mutating func next(
      isolation actor: (any Actor)?
    ) async throws(AttoError) -> ReceivedValue? {
      if position == batch.count, try await !fetch() { return nil }
      return takeNext()
    }

    /// One hop to the loop fetches all that waits; false at the end.
    private mutating func fetch() async throws(AttoError) -> Bool {
      let queue = values.queue
      guard
        let fetched: [ReceivedValue] = try await queue.loop.complete({ completion in
          queue.value.take(completion)
        })
      else { return false }
      batch = fetched
      position = 0
      return true
    }

    private mutating func takeNext() -> ReceivedValue {
      defer { position += 1 }
      return batch[position]
    }
  }
}

extension Connection {
  /// Values of a characteristic, or of all, from now on. Nothing is sent: see
  /// ``subscribe(to:configuration:as:)``.
  ///
  /// - Throws: `cancelled`. At a connection that has ended the sequence ends at once, as it would
  ///   have.
  public func values(of handle: AttributeHandle? = nil) async throws(AttoError) -> ReceivedValues {
    // In one step, so that there is no queue without somebody whose end removes it.
    try await onLoop { core in
      let queue = ValueQueue(handle: handle, limit: core.valueLimit)
      core.add(queue)
      return ReceivedValues(self, queue)
    }
  }

  /// Subscribes to a characteristic: writes its Client Characteristic Configuration. Vol 3,
  /// Part G, 4.10 and 4.11.
  ///
  /// Values that arrive before the response to the write are not lost.
  ///
  /// - Parameters:
  ///   - value: the characteristic's value handle.
  ///   - configuration: the handle of its Client Characteristic Configuration.
  ///   - kind: what to ask for.
  /// - Throws: what ``write(_:_:)`` throws: `refused` if the peer does not let itself be
  ///   configured so.
  public func subscribe(
    to value: AttributeHandle, configuration: AttributeHandle,
    as kind: ClientCharacteristicConfiguration = .notification
  ) async throws(AttoError) -> ReceivedValues {
    let values = try await values(of: value)
    try await write(
      configuration, [UInt8(kind.rawValue & 0xFF), UInt8(kind.rawValue >> 8)])
    return values
  }

  /// Subscribes to a discovered characteristic, by notification if it offers that and by
  /// indication otherwise.
  ///
  /// - Throws: `misuse(.cannotSubscribe)` if it offers neither or has no configuration.
  public func subscribe(
    to characteristic: Characteristic, preferring kind: ClientCharacteristicConfiguration? = nil
  ) async throws(AttoError) -> ReceivedValues {
    var offered: ClientCharacteristicConfiguration = []
    if characteristic.properties.contains(.notify) { offered.insert(.notification) }
    if characteristic.properties.contains(.indicate) { offered.insert(.indication) }
    let chosen = kind ?? (offered.contains(.notification) ? .notification : offered)
    guard !chosen.isEmpty, chosen.isSubset(of: offered),
      let configuration = characteristic.descriptors.first(where: {
        $0.uuid == .clientCharacteristicConfiguration
      })
    else { throw .misuse(.cannotSubscribe(characteristic.valueHandle)) }
    return try await subscribe(
      to: characteristic.valueHandle, configuration: configuration.handle, as: chosen)
  }

  /// Ends a subscription at the peer.
  ///
  /// - Throws: what ``write(_:_:)`` throws.
  public func unsubscribe(configuration: AttributeHandle) async throws(AttoError) {
    try await write(configuration, [0, 0])
  }
}
