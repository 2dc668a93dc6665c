import ATT

/// Discover All Characteristics of a Service: Read By Type Requests for Characteristic. Vol 3,
/// Part G, 4.6.1.
///
/// It ends with 0x0A, or with the range. Limits: ``DiscoveryLimits/characteristics`` and
/// ``DiscoveryLimits/requests``.
///
/// The range may hold several services, but then a characteristic's `endGroupHandle` may be in the
/// next one: where services begin only ``DiscoverDatabase`` knows.
public struct DiscoverCharacteristics: Procedure, Sendable {
  private var search: CharacteristicSearch

  /// - Parameters:
  ///   - range: where to look: most often a service.
  ///   - limits: characteristics and requests.
  public init(in range: HandleRange, limits: DiscoveryLimits = .standard) {
    search = CharacteristicSearch(in: range, limits: limits)
  }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    try search.encodeRequest(into: &out)
  }

  public mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<[Characteristic]> {
    switch try search.receive(response, mtu: mtu) {
    case .request: .request
    case .finished(let found): .finished(found.map { Characteristic($0, descriptors: []) })
    }
  }
}
