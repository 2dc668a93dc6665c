import AttoATT

/// Finds the Client Characteristic Configuration of a value. Vol 3, Part G, 3.3.3.3.
///
/// Sends Find Information Requests after the value, up to the configuration or the next declaration.
/// The output is nil if there is no configuration. Limit: ``DiscoveryLimits/requests``.
public struct FindConfiguration: Procedure, Sendable {
  private var progress: DiscoveryProgress

  /// nil for 0xFFFF, after which there is no descriptor.
  ///
  /// - Parameters:
  ///   - value: the handle of the characteristic's value.
  ///   - limits: requests.
  public init?(of value: AttributeHandle, limits: DiscoveryLimits = .standard) {
    guard let range = value.next.flatMap({ HandleRange.from($0) }) else { return nil }
    progress = DiscoveryProgress(range, requestLimit: limits.requests)
  }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    FindInformationRequest(progress.rangeToAsk).encode(into: &out)
  }

  public mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<AttributeHandle?> {
    switch response {
    case .findInformationResponse(let information):
      for index in 0..<information.count {
        let (handle, type) = information[index]
        try progress.advance(handle, through: handle)
        switch type {
        case .clientCharacteristicConfiguration: return .finished(handle)
        case .characteristic, .primaryService, .secondaryService, .include: return .finished(nil)
        default: break
        }
      }
      return try progress.hasRest() ? .request : .finished(nil)
    case .errorResponse(let error):
      guard error.code == .attributeNotFound else { throw .refused(error) }
      return .finished(nil)
    default: throw .violation(.incompleteResponse(.findInformationRequest))
    }
  }
}
