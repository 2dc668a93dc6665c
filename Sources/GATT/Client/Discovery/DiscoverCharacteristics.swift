import ATT

/// Discover All Characteristics of a Service: Read By Type Requests for Characteristic. Vol 3,
/// Part G, 4.6.1.
///
/// It ends with 0x0A, or with the range. Limits: ``DiscoveryLimits/characteristics`` and
/// ``DiscoveryLimits/requests``.
///
/// The range may hold several services, but then a characteristic's `endGroupHandle` may be in the
/// next one: where services begin only ``DiscoverDatabase`` knows. It gives this procedure the
/// services; every declaration must then be in one of them, with its value, and where no
/// characteristic has room nothing is asked.
public struct DiscoverCharacteristics: Procedure, Sendable {
  private let limits: DiscoveryLimits
  private var progress: DiscoveryProgress
  private var characteristics: [Characteristic] = []
  /// By handle, without overlaps; empty if the caller gave just a range.
  private let services: [Service]
  /// The first service that the next declaration can be in.
  private var serviceIndex = 0

  /// - Parameters:
  ///   - range: where to look: most often a service.
  ///   - limits: characteristics and requests.
  public init(in range: HandleRange, limits: DiscoveryLimits = .standard) {
    self.limits = limits
    services = []
    progress = DiscoveryProgress(range, requestLimit: limits.requests)
  }

  /// Looks in all these services at once, from the first to the last; nil if none has room for a
  /// characteristic.
  ///
  /// - Parameter services: by handle, without overlaps.
  init?(inServices services: [Service], limits: DiscoveryLimits) {
    guard let first = services.first(where: { $0.hasRoom }), let start = first.handle.next,
      let last = services.last(where: { $0.hasRoom }),
      let range = HandleRange(start, last.endGroupHandle)
    else { return nil }
    self.limits = limits
    self.services = services
    progress = DiscoveryProgress(range, requestLimit: limits.requests)
  }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    ReadByTypeRequest(progress.rangeToAsk, type: .characteristic).encode(into: &out)
  }

  public mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<[Characteristic]> {
    switch response {
    case .readByTypeResponse(let read):
      for index in 0..<read.count {
        try append(read.handle(at: index), declaration: read.value(at: index))
      }
      return try progress.hasRest() ? .request : .finished(characteristics)
    case .errorResponse(let error):
      guard error.code == .attributeNotFound else { throw .refused(error) }
      return .finished(characteristics)
    default: throw .violation(.incompleteResponse(.readByTypeRequest))
    }
  }

  private mutating func append(
    _ handle: AttributeHandle, declaration: RawSpan
  ) throws(ProcedureError) {
    guard let value = CharacteristicDeclarationValue(declaration) else {
      throw .violation(.declarationLength(handle, declaration.byteCount))
    }
    // The declaration and its value belong together, so that nothing may begin between them.
    try progress.advance(handle, through: max(handle, value.valueHandle))
    try limits.check(characteristics.count, of: .characteristics)
    let service = try range(around: handle)
    let valueRange = service ?? .all
    guard valueRange.contains(value.valueHandle), value.valueHandle > handle else {
      throw .violation(.handleOutOfRange(value.valueHandle, valueRange))
    }
    // A range may have been given that ends between a declaration and its value.
    let end = service?.end ?? max(progress.range.end, value.valueHandle)
    if let last = characteristics.indices.last, let previous = handle.previous {
      characteristics[last].endGroupHandle = min(characteristics[last].endGroupHandle, previous)
    }
    characteristics.append(
      Characteristic(
        handle: handle, valueHandle: value.valueHandle, endGroupHandle: end,
        properties: value.properties, uuid: value.uuid))
    progress.resume(at: services.isEmpty ? handle.next : nextRoom(after: value.valueHandle))
  }

  /// The service that the declaration is in; nil if services are not known.
  private mutating func range(
    around handle: AttributeHandle
  ) throws(ProcedureError) -> HandleRange? {
    guard !services.isEmpty else { return nil }
    while serviceIndex < services.count, services[serviceIndex].endGroupHandle < handle {
      serviceIndex += 1
    }
    guard serviceIndex < services.count, services[serviceIndex].handle <= handle,
      let range = services[serviceIndex].range
    else { throw .violation(.outsideServices(handle)) }
    guard services[serviceIndex].handle < handle else { throw .violation(.contradiction(handle)) }
    return range
  }

  /// The first handle after this one where a declaration, with a value after it, has room in its
  /// service.
  private func nextRoom(after handle: AttributeHandle) -> AttributeHandle? {
    guard let next = handle.next else { return nil }
    for service in services[serviceIndex...] where service.hasRoom {
      guard let first = service.handle.next else { return nil }
      let start = max(first, next)
      if start < service.endGroupHandle { return start }
    }
    return nil
  }
}

extension Service {
  /// Whether a characteristic fits: after the service's declaration its own, and its value.
  fileprivate var hasRoom: Bool {
    guard let first = handle.next else { return false }
    return first < endGroupHandle
  }
}
