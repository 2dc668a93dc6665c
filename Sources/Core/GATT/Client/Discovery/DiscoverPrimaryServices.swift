import AttoATT

/// Discover All Primary Services: Read By Group Type Requests for Primary Service. Vol 3, Part
/// G, 4.4.1.
///
/// It ends with Attribute Not Found (0x0A) or with a service at the end of the range. Limits:
/// ``DiscoveryLimits/services`` and ``DiscoveryLimits/requests``.
public struct DiscoverPrimaryServices: Procedure, Sendable {
  private var found: DiscoveredServices

  /// - Parameters:
  ///   - range: the range to search for declarations.
  ///   - limits: the limits for services and requests.
  public init(in range: HandleRange = .all, limits: DiscoveryLimits = .standard) {
    found = DiscoveredServices(isPrimary: true, in: range, limits: limits)
  }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    ReadByGroupTypeRequest(found.progress.rangeToAsk, type: .primaryService).encode(into: &out)
  }

  public mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<[Service]> {
    try found.receive(groups: response)
  }
}
