import AttoATT

/// The services that a discovery has found so far. The discoveries of primary and secondary
/// services and of services by UUID share it.
struct DiscoveredServices: Sendable {
  private let isPrimary: Bool
  private let limits: DiscoveryLimits
  private(set) var progress: DiscoveryProgress
  private(set) var services: [Service] = []

  init(isPrimary: Bool, in range: HandleRange, limits: DiscoveryLimits) {
    self.isPrimary = isPrimary
    self.limits = limits
    progress = DiscoveryProgress(range, requestLimit: limits.requests)
  }

  /// Receives the response to a Read By Group Type Request.
  mutating func receive(
    groups response: borrowing PDU
  ) throws(ProcedureError) -> Step<[Service]> {
    switch response {
    case .readByGroupTypeResponse(let groups):
      services.makeRoom(for: groups.count)
      for index in 0..<groups.count {
        let group = groups.group(at: index)
        let value = groups.value(at: index)
        guard value.byteCount == 2 || value.byteCount == 16, let uuid = value.uuid else {
          throw .violation(.declarationLength(group.start, value.byteCount))
        }
        try append(group.start, end: group.end, uuid)
      }
      return try next()
    case .errorResponse(let error): return try end(error)
    default: throw .violation(.incompleteResponse(.readByGroupTypeRequest))
    }
  }

  /// Receives the response to a Find By Type Value Request for this UUID.
  mutating func receive(
    matches response: borrowing PDU, of uuid: BluetoothUUID
  ) throws(ProcedureError) -> Step<[Service]> {
    switch response {
    case .findByTypeValueResponse(let matches):
      for index in 0..<matches.count {
        let match = matches[index]
        try append(match.found, end: match.groupEnd, uuid)
      }
      return try next()
    case .errorResponse(let error): return try end(error)
    default: throw .violation(.incompleteResponse(.findByTypeValueRequest))
    }
  }

  private mutating func append(
    _ handle: AttributeHandle, end: AttributeHandle, _ uuid: BluetoothUUID
  ) throws(ProcedureError) {
    try progress.advance(handle, through: end)
    try limits.check(services.count, of: .services)
    services.append(
      Service(handle: handle, endGroupHandle: end, uuid: uuid, isPrimary: isPrimary))
  }

  private mutating func next() throws(ProcedureError) -> Step<[Service]> {
    try progress.hasRest() ? .request : .finished(services)
  }

  private func end(_ error: ErrorResponse) throws(ProcedureError) -> Step<[Service]> {
    guard error.code == .attributeNotFound else { throw .refused(error) }
    return .finished(services)
  }
}
