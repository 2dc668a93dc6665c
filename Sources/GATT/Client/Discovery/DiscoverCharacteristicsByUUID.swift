import ATT

/// Discover Characteristics by UUID: all declarations are read, those of this type are kept. Vol
/// 3, Part G, 4.6.2.
///
/// The same requests as ``DiscoverCharacteristics``, so the ends of the characteristics are known.
/// Limits: ``DiscoveryLimits/characteristics``, which counts those that are not kept too, and
/// ``DiscoveryLimits/requests``.
public struct DiscoverCharacteristicsByUUID: Procedure, Sendable {
  /// What is looked for.
  public let uuid: BluetoothUUID
  private var discovery: DiscoverCharacteristics

  /// - Parameters:
  ///   - uuid: the type.
  ///   - range: where to look: most often a service.
  ///   - limits: characteristics and requests.
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
