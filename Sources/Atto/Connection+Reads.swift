import ATT
import GATT

extension Connection {
  /// Reads a value as far as one response carries it: ATT_MTU - 1 octets. Vol 3, Part G, 4.8.1.
  ///
  /// - Throws: `refused` with the peer's code, and what ``perform(_:)`` throws.
  public func read(_ handle: AttributeHandle) async throws(AttoError) -> [UInt8] {
    let read = AwaitedRead(handle, core)
    await read.carriedOut()
    if let value = read.value { return value }
    throw await explained(read.failure ?? .cancelled)
  }

  /// Reads a value to its end, 512 octets at the most. Vol 3, Part G, 4.8.3.
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
  /// - Throws: `refused` with the peer's code: attributeNotFound if there is none; what
  ///   ``perform(_:)`` throws.
  public func read(
    uuid: BluetoothUUID, in range: HandleRange = .all
  ) async throws(AttoError) -> ReadUsingUUID.Output {
    try await perform(ReadUsingUUID(uuid, in: range))
  }

  /// Reads several values, each with its length. Vol 3, Part G, 4.8.5.
  ///
  /// - Throws: `refused` with the peer's code, `misuse` if they are not 2 to (ATT_MTU - 1) / 2,
  ///   and what ``perform(_:)`` throws.
  public func read(
    _ handles: [AttributeHandle]
  ) async throws(AttoError) -> [ReadMultipleVariable.Value] {
    try await perform(ReadMultipleVariable(handles))
  }

  /// Discovers everything.
  ///
  /// - Parameter cached: what was discovered before, with its hash: one round trip if the peer
  ///   still has the same.
  /// - Throws: `violation` where the peer contradicts itself or a limit is reached, and what
  ///   ``perform(_:)`` throws.
  public func discover(
    cached: RemoteDatabase? = nil, readsDatabaseHash: Bool = false,
    limits: DiscoveryLimits = .standard
  ) async throws(AttoError) -> RemoteDatabase {
    try await perform(
      DiscoverDatabase(cached: cached, readsDatabaseHash: readsDatabaseHash, limits: limits))
  }
}
