import AttoATT

/// Discover All Characteristic Descriptors: Find Information Requests over a range. Vol 3, Part
/// G, 4.7.1.
///
/// In a characteristic's ``Characteristic/descriptorRange`` it finds the descriptors; in any other
/// range it lists all attributes. It ends with Attribute Not Found (0x0A) or at the end of
/// the range. Limits:
/// ``DiscoveryLimits/descriptors`` and ``DiscoveryLimits/requests``.
public struct DiscoverDescriptors: Procedure, Sendable {
  private let limits: DiscoveryLimits
  private var progress: DiscoveryProgress
  private var descriptors: [Descriptor] = []

  /// - Parameters:
  ///   - range: the range to search.
  ///   - limits: the limits for descriptors and requests.
  public init(in range: HandleRange, limits: DiscoveryLimits = .standard) {
    self.limits = limits
    progress = DiscoveryProgress(range, requestLimit: limits.requests)
  }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    FindInformationRequest(progress.rangeToAsk).encode(into: &out)
  }

  public mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<[Descriptor]> {
    switch response {
    case .findInformationResponse(let information):
      for index in 0..<information.count {
        let (handle, type) = information[index]
        try progress.advance(handle, through: handle)
        try limits.check(descriptors.count, of: .descriptors)
        descriptors.append(Descriptor(handle: handle, uuid: type))
      }
      return try progress.hasRest() ? .request : .finished(descriptors)
    case .errorResponse(let error):
      guard error.code == .attributeNotFound else { throw .refused(error) }
      return .finished(descriptors)
    default: throw .violation(.incompleteResponse(.findInformationRequest))
    }
  }
}
