import ATT

/// Characteristic declarations, by Read By Type Requests: what ``DiscoverCharacteristics`` and
/// ``DiscoverDatabase`` have in common. Vol 3, Part G, 4.6.1.
///
/// Where the services are known, every declaration must be in one of them, with its value, and
/// where no characteristic has room nothing is asked.
struct CharacteristicSearch: Procedure, Sendable {
  /// A declaration. Discovery keeps many of them for a while: it is nothing but numbers, so that
  /// no reference is counted for any.
  struct Found: Equatable, Sendable {
    let handle: AttributeHandle
    let valueHandle: AttributeHandle
    /// As ``Characteristic/endGroupHandle``.
    var endGroupHandle: AttributeHandle
    let properties: CharacteristicProperties
    let uuid: BluetoothUUID

    /// As ``Characteristic/descriptorRange``.
    var descriptorRange: HandleRange? {
      guard let first = valueHandle.next else { return nil }
      return HandleRange(first, endGroupHandle)
    }
  }

  private let limits: DiscoveryLimits
  private var progress: DiscoveryProgress
  private var found: [Found] = []
  /// By handle, without overlaps; empty if the caller gave just a range.
  private let services: [Service]
  /// The first service that the next declaration can be in.
  private var serviceIndex = 0

  /// Looks in a range, which may be anything.
  init(in range: HandleRange, limits: DiscoveryLimits) {
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

  mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    ReadByTypeRequest(progress.rangeToAsk, type: .characteristic).encode(into: &out)
  }

  mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<[Found]> {
    switch response {
    case .readByTypeResponse(let read):
      found.makeRoom(for: read.count)
      for index in 0..<read.count {
        try append(read.handle(at: index), declaration: read.value(at: index))
      }
      if let last = found.last {
        progress.resume(
          at: services.isEmpty ? last.handle.next : nextRoom(after: last.valueHandle))
      }
      return try progress.hasRest() ? .request : .finished(found)
    case .errorResponse(let error):
      guard error.code == .attributeNotFound else { throw .refused(error) }
      return .finished(found)
    default: throw .violation(.incompleteResponse(.readByTypeRequest))
    }
  }

  @inline(__always)
  private mutating func append(
    _ handle: AttributeHandle, declaration: RawSpan
  ) throws(ProcedureError) {
    guard let value = CharacteristicDeclarationValue(declaration) else {
      throw .violation(.declarationLength(handle, declaration.byteCount))
    }
    // The declaration and its value belong together, so that nothing may begin between them.
    try progress.advance(handle, through: max(handle, value.valueHandle))
    try limits.check(found.count, of: .characteristics)
    let service = try range(around: handle)
    let valueRange = service ?? .all
    guard valueRange.contains(value.valueHandle), value.valueHandle > handle else {
      throw .violation(.handleOutOfRange(value.valueHandle, valueRange))
    }
    // A range may have been given that ends between a declaration and its value.
    let end = service?.end ?? max(progress.range.end, value.valueHandle)
    let last = found.count - 1
    if last >= 0, let previous = handle.previous, previous < found[last].endGroupHandle {
      found[last].endGroupHandle = previous
    }
    found.append(
      Found(
        handle: handle, valueHandle: value.valueHandle, endGroupHandle: end,
        properties: value.properties, uuid: value.uuid))
  }

  /// The service that the declaration is in; nil if services are not known.
  @inline(__always)
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
    for index in serviceIndex..<services.count where services[index].hasRoom {
      guard let first = services[index].handle.next else { return nil }
      let start = max(first, next)
      if start < services[index].endGroupHandle { return start }
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
