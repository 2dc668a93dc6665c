import AttoATT

/// Discovers secondary services: Read By Group Type Requests for Secondary Service. GATT has no
/// such procedure; it works like ``DiscoverPrimaryServices``. Vol 3, Part F, 3.4.4.9.
///
/// A server that does not support this grouping answers Unsupported Group Type (0x10), which is an
/// error here. Limits: ``DiscoveryLimits/services`` and ``DiscoveryLimits/requests``.
public struct DiscoverSecondaryServices: Procedure, Sendable {
  private var found: DiscoveredServices

  /// - Parameters:
  ///   - range: the range to search for declarations.
  ///   - limits: the limits for services and requests.
  public init(in range: HandleRange = .all, limits: DiscoveryLimits = .standard) {
    found = DiscoveredServices(isPrimary: false, in: range, limits: limits)
  }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    ReadByGroupTypeRequest(found.progress.rangeToAsk, type: .secondaryService).encode(into: &out)
  }

  public mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<[Service]> {
    try found.receive(groups: response)
  }

  /// As ``receive(_:mtu:)``, but Unsupported Group Type means that there are no such services.
  mutating func receiveOrEnd(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<[Service]> {
    switch response {
    case .errorResponse(let error) where error.code == .unsupportedGroupType:
      return .finished(found.services)
    default: return try receive(response, mtu: mtu)
    }
  }
}
