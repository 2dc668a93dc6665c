import AttoATT

/// Discover Characteristics by UUID: reads all declarations and keeps those with this UUID. Vol 3,
/// Part G, 4.6.2.
///
/// It sends the same requests as ``DiscoverCharacteristics``, because the ends of the
/// characteristics depend on all declarations. Limits: ``DiscoveryLimits/characteristics``, which
/// counts all declarations, and ``DiscoveryLimits/requests``.
public struct DiscoverCharacteristicsByUUID: Procedure, Sendable {
  /// The UUID to search for.
  public let uuid: BluetoothUUID
  private var discovery: DiscoverCharacteristics

  /// - Parameters:
  ///   - uuid: the UUID to search for.
  ///   - range: the range to search, usually that of a service.
  ///   - limits: the limits for characteristics and requests.
  public init(_ uuid: BluetoothUUID, in range: HandleRange, limits: DiscoveryLimits = .standard) {
    self.uuid = uuid
    discovery = DiscoverCharacteristics(in: range, limits: limits)
  }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    try discovery.encodeRequest(into: &out)
  }

  public mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<[Characteristic]> {
    switch try discovery.receive(response, mtu: mtu) {
    case .request: .request
    case .finished(let all): .finished(all.filter { $0.uuid == uuid })
    }
  }
}
