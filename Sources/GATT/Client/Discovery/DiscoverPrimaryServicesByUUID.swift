import ATT

/// Discover Primary Service by Service UUID: Find By Type Value Requests for Primary Service
/// with this UUID as the value. Vol 3, Part G, 4.4.2.
///
/// There may be several services of one type. It ends with 0x0A, or with a service that ends at
/// the end of the range. Limits: ``DiscoveryLimits/services`` and ``DiscoveryLimits/requests``.
public struct DiscoverPrimaryServicesByUUID: Procedure, Sendable {
  /// What is looked for.
  public let uuid: BluetoothUUID
  private var found: DiscoveredServices

  /// - Parameters:
  ///   - uuid: travels as 2 octets if it has a 16-bit form, else as 16.
  ///   - range: where to look for declarations.
  ///   - limits: services and requests.
  public init(
    _ uuid: BluetoothUUID, in range: HandleRange = .all, limits: DiscoveryLimits = .standard
  ) {
    self.uuid = uuid
    found = DiscoveredServices(isPrimary: true, in: range, limits: limits)
  }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    // The value is the last field, so it can be written after a request without one.
    FindByTypeValueRequest(found.progress.rangeToAsk, type: 0x2800, value: RawSpan())
      .encode(into: &out)
    out.append(uuid)
  }

  public mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<[Service]> {
    try found.receive(matches: response, of: uuid)
  }
}
