import AttoATT

/// Discover Primary Service by Service UUID: Find By Type Value Requests for Primary Service
/// with this UUID as the value. Vol 3, Part G, 4.4.2.
///
/// There may be several services with one UUID. It ends with Attribute Not Found (0x0A) or with a
/// service at the end of the range. Limits: ``DiscoveryLimits/services`` and
/// ``DiscoveryLimits/requests``.
public struct DiscoverPrimaryServicesByUUID: Procedure, Sendable {
  /// The UUID to search for.
  public let uuid: BluetoothUUID
  private let isInFull: Bool
  private var found: DiscoveredServices

  /// - Parameters:
  ///   - uuid: sent as 2 octets if it has a 16-bit form, otherwise as 16.
  ///   - range: the range to search for declarations.
  ///   - inFull: whether a UUID that has a 16-bit form is sent as 16 octets too.
  ///   - limits: the limits for services and requests.
  public init(
    _ uuid: BluetoothUUID, in range: HandleRange = .all, inFull: Bool = false,
    limits: DiscoveryLimits = .standard
  ) {
    isInFull = inFull
    self.uuid = uuid
    found = DiscoveredServices(isPrimary: true, in: range, limits: limits)
  }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    // The value is the last field, so it can be appended to a request with an empty value.
    FindByTypeValueRequest(found.progress.rangeToAsk, type: 0x2800, value: RawSpan())
      .encode(into: &out)
    out.append(uuid, inFull: isInFull)
  }

  public mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<[Service]> {
    try found.receive(matches: response, of: uuid)
  }
}
