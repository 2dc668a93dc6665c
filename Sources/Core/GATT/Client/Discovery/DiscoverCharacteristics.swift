import AttoATT

/// Discover All Characteristics of a Service: Read By Type Requests for Characteristic. Vol 3,
/// Part G, 4.6.1.
///
/// It ends with Attribute Not Found (0x0A) or at the end of the range. Limits:
/// ``DiscoveryLimits/characteristics`` and ``DiscoveryLimits/requests``.
///
/// If the range has several services, the `endGroupHandle` of a characteristic may be in the next
/// service. Only ``DiscoverDatabase`` takes the services into account.
public struct DiscoverCharacteristics: Procedure, Sendable {
  private var search: CharacteristicSearch

  /// - Parameters:
  ///   - range: the range to search, usually that of a service.
  ///   - limits: the limits for characteristics and requests.
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
    case .finished(let found): .finished(found.map { $0.with([]) })
    }
  }
}
