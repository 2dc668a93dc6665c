import AttoATT

/// Finds the Client Characteristic Configuration of a value. Vol 3, Part G, 3.3.3.3.
///
/// Sends Find Information Requests from the handle on, up to the configuration or the next
/// declaration. The output is nil if there is no configuration. If the handle is that of a
/// characteristic's declaration, the attribute after it is the value. Limit:
/// ``DiscoveryLimits/requests``.
public struct FindConfiguration: Procedure, Sendable {
  private let handle: AttributeHandle
  /// nil until the attribute is known that follows the declaration.
  private var value: AttributeHandle?
  private var type: BluetoothUUID?
  private var progress: DiscoveryProgress

  /// A value and its configuration.
  public struct Found: Equatable, Sendable {
    /// The handle of the characteristic's value.
    public let value: AttributeHandle
    /// The handle of its Client Characteristic Configuration.
    public let configuration: AttributeHandle
    /// The type of the value, which is the UUID of the characteristic.
    public let type: BluetoothUUID?
  }

  /// nil for 0x0000.
  ///
  /// - Parameters:
  ///   - handle: the handle of a characteristic's value, or of its declaration.
  ///   - limits: requests.
  public init?(of handle: AttributeHandle, limits: DiscoveryLimits = .standard) {
    guard let range = HandleRange.from(handle) else { return nil }
    self.handle = handle
    value = handle
    progress = DiscoveryProgress(range, requestLimit: limits.requests)
  }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    FindInformationRequest(progress.rangeToAsk).encode(into: &out)
  }

  public mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<Found?> {
    switch response {
    case .findInformationResponse(let information):
      for index in 0..<information.count {
        let (found, type) = information[index]
        try progress.advance(found, through: found)
        if found == handle {
          if type == .characteristic { value = nil } else { self.type = type }
          // A configuration is no value.
          if type == .clientCharacteristicConfiguration { return .finished(nil) }
          continue
        }
        switch type {
        case .clientCharacteristicConfiguration:
          return .finished(value.map { Found(value: $0, configuration: found, type: self.type) })
        case .characteristic, .primaryService, .secondaryService, .include: return .finished(nil)
        default:
          if value == nil { (value, self.type) = (found, type) }
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
