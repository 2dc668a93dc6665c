import AttoATT
import AttoEventLoop
import AttoGATT

/// Notified and indicated values, in order of arrival. For one consumer.
///
/// When ``ConnectionOptions/valueLimit`` values wait, the peer is held back. If that is impossible,
/// values may be lost, and ``ReceivedValue/missed`` says how many and where: with the next value, so a
/// loss at the end of a stream is not told. Release the sequence, or cancel its task, to stop receiving.
///
/// Releasing it does not end the subscription at the peer: that takes a request, which may fail, and
/// other sequences may use the subscription. See ``Connection/unsubscribe(from:)``.
///
/// The sequence ends when this end closes the connection, and throws when the connection ends
/// otherwise.
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
    // Not implemented with the other form, which costs a tenth more instructions for each value.
    public mutating func next() async throws(AttoError) -> ReceivedValue? {
      if position == batch.count, try await !fetch() { return nil }
      return dequeue()
    }

    /// The next value; nil at the end. Runs on the caller's executor.
    ///
    /// Not `isolated` to the actor, because then the runtime would check before and after each value
    /// whether it runs there.
    public nonisolated(nonsending) mutating func next(
      isolation actor: (any Actor)?
    ) async throws(AttoError) -> ReceivedValue? {
      if position == batch.count, try await !fetch() { return nil }
      return dequeue()
    }

    /// Fetches all waiting values with one hop to the loop; false at the end.
    private mutating func fetch() async throws(AttoError) -> Bool {
      let queue = values.queue
      guard
        let fetched: [ReceivedValue] = try await queue.loop.withWaiter({ waiter in
          queue.value.receive(waiter)
        })
      else { return false }
      batch = fetched
      position = 0
      return true
    }

    private mutating func dequeue() -> ReceivedValue {
      defer { position += 1 }
      return batch[position]
    }
  }
}

extension Connection {
  /// The values of a characteristic, or of all, from now on. Nothing is sent to the peer: see
  /// ``subscribe(to:cccd:as:)``.
  ///
  /// - Throws: `cancelled`. If the connection has ended, the sequence ends at once.
  public func values(of handle: AttributeHandle? = nil) async throws(AttoError) -> ReceivedValues {
    // In one step, so that there is no queue without a sequence whose end removes it.
    try await onLoop { core in
      let queue = ValueQueue(
        handle: handle, limit: core.options.valueLimit,
        octetLimit: core.options.valueOctetLimit)
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
  ///   - cccd: the handle of its Client Characteristic Configuration.
  ///   - kind: notifications or indications.
  /// - Throws: what `write(_:to:)` throws: `refused` if the peer does not accept the
  ///   configuration.
  public func subscribe(
    to value: AttributeHandle, cccd: AttributeHandle,
    as kind: ClientCharacteristicConfiguration = .notification
  ) async throws(AttoError) -> ReceivedValues {
    let values = try await values(of: value)
    try await write(kind.octets, to: cccd)
    return values
  }

  /// Subscribes to a discovered characteristic: to notifications if it supports them, otherwise to
  /// indications.
  ///
  /// - Throws: `misuse(.cannotSubscribe)` if it supports neither or has no configuration.
  public func subscribe(
    to characteristic: Characteristic, preferring kind: ClientCharacteristicConfiguration? = nil
  ) async throws(AttoError) -> ReceivedValues {
    var offered: ClientCharacteristicConfiguration = []
    if characteristic.properties.contains(.notify) { offered.insert(.notification) }
    if characteristic.properties.contains(.indicate) { offered.insert(.indication) }
    let chosen = kind ?? (offered.contains(.notification) ? .notification : offered)
    guard !chosen.isEmpty, chosen.isSubset(of: offered), let cccd = characteristic.cccd
    else { throw .misuse(.cannotSubscribe(characteristic.valueHandle)) }
    return try await subscribe(
      to: characteristic.valueHandle, cccd: cccd.handle, as: chosen)
  }

  /// Ends a subscription at the peer, by the handle of the Client Characteristic Configuration.
  ///
  /// - Throws: what `write(_:to:)` throws.
  public func unsubscribe(cccd: AttributeHandle) async throws(AttoError) {
    try await write([0, 0], to: cccd)
  }
}
