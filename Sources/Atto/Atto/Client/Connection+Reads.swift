import AttoATT
import AttoGATT

extension Connection {
  /// Reads the first ATT_MTU - 1 octets of a value, with one request. Vol 3, Part G, 4.8.1.
  ///
  /// The value may be longer: ``readLong(_:offset:)`` reads all of it.
  ///
  /// - Throws: `refused` with the peer's code, and what ``perform(_:)`` throws.
  public func readOnce(_ handle: AttributeHandle) async throws(AttoError) -> [UInt8] {
    let read = AwaitedRead(handle, core)
    await read.carriedOut()
    if let value = read.value { return value }
    throw await explained(read.failure ?? .cancelled)
  }

  /// Reads a whole value, 512 octets at most. Vol 3, Part G, 4.8.3.
  ///
  /// - Throws: `refused` with the peer's code, `violation` if the value is longer than 512 octets,
  ///   and what ``perform(_:)`` throws.
  public func readLong(
    _ handle: AttributeHandle, offset: UInt16 = 0
  ) async throws(AttoError) -> [UInt8] {
    try await perform(ReadLongValue(handle, offset: offset))
  }

  /// Reads all values of a type. Vol 3, Part G, 4.8.2.
  ///
  /// - Throws: `refused` with the peer's code: attributeNotFound if there is none; and what
  ///   ``perform(_:)`` throws.
  public func read(
    uuid: BluetoothUUID, in range: HandleRange = .all
  ) async throws(AttoError) -> ReadUsingUUID.Output {
    try await perform(ReadUsingUUID(uuid, in: range))
  }

  /// Reads several values, each with its length. Vol 3, Part G, 4.8.5.
  ///
  /// - Throws: `refused` with the peer's code, `misuse` if there are not 2 to (ATT_MTU - 1) / 2,
  ///   and what ``perform(_:)`` throws.
  public func read(
    _ handles: [AttributeHandle]
  ) async throws(AttoError) -> [ReadMultipleVariable.Value] {
    try await perform(ReadMultipleVariable(handles))
  }

  /// Discovers all services, characteristics and descriptors.
  ///
  /// - Parameters:
  ///   - cached: an earlier result with its hash. If the peer's is the same, discovery takes one
  ///     round trip.
  ///   - readsDatabaseHash: whether to read the peer's hash.
  ///   - limits: what a peer may list.
  /// - Throws: `violation` where the peer contradicts itself, `limit` where one is reached, and what
  ///   ``perform(_:)`` throws.
  public func discover(
    cached: RemoteDatabase? = nil, readsDatabaseHash: Bool = false,
    limits: DiscoveryLimits = .standard
  ) async throws(AttoError) -> RemoteDatabase {
    try await perform(
      DiscoverDatabase(cached: cached, readsDatabaseHash: readsDatabaseHash, limits: limits))
  }
}
