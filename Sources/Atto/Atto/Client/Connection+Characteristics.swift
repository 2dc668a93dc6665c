import AttoATT
import AttoGATT

/// Calls by characteristic and descriptor, as ``Connection/discover(cached:readsDatabaseHash:limits:)``
/// returns them. The calls by handle send exactly one request each.
extension Connection {
  /// Reads the whole value of a characteristic, 512 octets at most.
  ///
  /// Sends a Read Request. If the response is full, ATT_MTU - 1 octets, Read Blob Requests follow
  /// until the value ends. Vol 3, Part G, 4.8.1 and 4.8.3.
  ///
  /// - Throws: `refused` with the peer's code, `violation` if the value is longer than 512 octets,
  ///   and what ``perform(_:)`` throws.
  public func read(_ characteristic: Characteristic) async throws(AttoError) -> [UInt8] {
    try await readLong(characteristic.valueHandle)
  }

  /// Reads the whole value of a descriptor, as a characteristic's value is read. Vol 3, Part G,
  /// 4.12.1 and 4.12.2.
  ///
  /// - Throws: `refused` with the peer's code, `violation` if the value is longer than 512 octets,
  ///   and what ``perform(_:)`` throws.
  public func read(_ descriptor: Descriptor) async throws(AttoError) -> [UInt8] {
    try await readLong(descriptor.handle)
  }

  /// Writes the value of a characteristic and waits for the response.
  ///
  /// A value of up to ATT_MTU - 3 octets takes one Write Request. A longer one is written in parts,
  /// with Prepare Write Requests and an Execute Write Request: all of it or nothing. Vol 3, Part G,
  /// 4.9.3 and 4.9.4.
  ///
  /// - Throws: `refused` with the peer's code; `violation` if the peer's responses differ from the
  ///   parts; `misuse` if the value is longer than 512 octets; and what ``perform(_:)`` throws.
  public func write(
    _ value: [UInt8], to characteristic: Characteristic
  ) async throws(AttoError) {
    try await writeWhole(value, characteristic.valueHandle)
  }

  /// Writes the value of a descriptor, as a characteristic's value is written. Vol 3, Part G, 4.12.3
  /// and 4.12.4.
  ///
  /// - Throws: `refused` with the peer's code; `violation` if the peer's responses differ from the
  ///   parts; `misuse` if the value is longer than 512 octets; and what ``perform(_:)`` throws.
  public func write(_ value: [UInt8], to descriptor: Descriptor) async throws(AttoError) {
    try await writeWhole(value, descriptor.handle)
  }

  /// Writes the value of a characteristic without a response. Vol 3, Part G, 4.9.1.
  ///
  /// Returns when the value has been sent or gathered for sending; waits for room if the link has
  /// none.
  ///
  /// - Throws: `misuse` if the value is longer than ATT_MTU - 3 or 512 octets; the error that ended
  ///   the connection; `cancelled`.
  public func writeWithoutResponse(
    _ value: [UInt8], to characteristic: Characteristic
  ) async throws(AttoError) {
    try await writeWithoutResponse(value, to: characteristic.valueHandle)
  }

  /// Ends the subscription to a discovered characteristic at the peer: writes zero to its Client
  /// Characteristic Configuration. Vol 3, Part G, 3.3.3.3.
  ///
  /// - Throws: `misuse(.cannotSubscribe)` if it has no configuration, `refused` with the peer's code,
  ///   and what ``perform(_:)`` throws.
  public func unsubscribe(from characteristic: Characteristic) async throws(AttoError) {
    guard let cccd = characteristic.cccd else {
      throw .misuse(.cannotSubscribe(characteristic.valueHandle))
    }
    try await unsubscribe(cccd: cccd.handle)
  }

  /// ATT_MTU of the moment decides, when the request is encoded.
  private func writeWhole(
    _ value: [UInt8], _ handle: AttributeHandle
  ) async throws(AttoError) {
    do throws(AttoError) {
      try await write(value, to: handle)
    } catch .misuse(.valueTooLong) {
      try await writeLong(value, to: handle)
    }
  }
}
