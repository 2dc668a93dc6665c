import ATT

/// Find Included Services: Read By Type Requests for Include. Vol 3, Part G, 4.5.1.
///
/// The declaration of a 128-bit service that is included has no room for its UUID. Unless the
/// caller knows that service, its own declaration is read, after all includes have been found:
/// one Read Request for each service, however often it is included. Includes are not followed
/// into the services that they name, so no circle of them matters.
///
/// It ends with 0x0A, or with the range. Limits: ``DiscoveryLimits/includes`` and
/// ``DiscoveryLimits/requests``.
public struct FindIncludedServices: Procedure, Sendable {
  private let limits: DiscoveryLimits
  private var progress: DiscoveryProgress
  private var includes: [IncludedService] = []
  /// Services whose UUID is known, by handle.
  private let knownServices: [Service]
  /// Indices of the includes whose UUID is still to be read, the next one last.
  private var unresolved: [Int] = []
  /// The service whose declaration is being read; nil while includes are being looked for.
  private var reading: AttributeHandle?
  private var requests = 0

  /// - Parameters:
  ///   - range: where to look for include declarations: most often a service.
  ///   - knownServices: services whose declarations need not be read.
  ///   - limits: includes and requests.
  public init(
    in range: HandleRange, knownServices: [Service] = [], limits: DiscoveryLimits = .standard
  ) {
    self.limits = limits
    self.knownServices = knownServices.sortedByHandle { $0.handle }
    progress = DiscoveryProgress(range, requestLimit: limits.requests)
  }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    if let reading {
      ReadRequest(reading).encode(into: &out)
    } else {
      ReadByTypeRequest(progress.rangeToAsk, type: .include).encode(into: &out)
    }
  }

  public mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<[IncludedService]> {
    requests += 1
    switch response {
    case .readByTypeResponse(let read) where reading == nil:
      for index in 0..<read.count {
        try append(read.handle(at: index), declaration: read.value(at: index))
      }
      return try progress.hasRest() ? .request : try resolve()
    case .readResponse(let read):
      guard let reading else { break }
      let value = read.value
      guard value.byteCount == 2 || value.byteCount == 16, let uuid = value.uuid else {
        throw .violation(.declarationLength(reading, value.byteCount))
      }
      setUUID(uuid, ofIncludesOf: reading)
      return try resolve()
    case .errorResponse(let error):
      guard reading == nil, error.code == .attributeNotFound else { throw .refused(error) }
      return try resolve()
    default: break
    }
    throw .violation(.incompleteResponse(reading == nil ? .readByTypeRequest : .readRequest))
  }

  private mutating func append(
    _ handle: AttributeHandle, declaration: RawSpan
  ) throws(ProcedureError) {
    try progress.advance(handle, through: handle)
    try limits.check(includes.count, of: .includes)
    guard let declaration = IncludeDeclarationValue(declaration) else {
      throw .violation(.declarationLength(handle, declaration.byteCount))
    }
    let (start, end) = (declaration.startHandle, declaration.endGroupHandle)
    guard start.isValid else { throw .violation(.handleOutOfRange(start, .all)) }
    guard start <= end else { throw .violation(.groupEndsBeforeStart(start, end: end)) }
    let uuid = declaration.uuid ?? knownUUID(of: start)
    if uuid == nil { unresolved.append(includes.count) }
    includes.append(
      IncludedService(
        handle: handle, startHandle: start, endGroupHandle: end, uuid: uuid ?? Self.unknownUUID))
  }

  /// Stands in until the declaration has been read; never in the output.
  private static let unknownUUID = BluetoothUUID(high: 0, low: 0)

  private func knownUUID(of start: AttributeHandle) -> BluetoothUUID? {
    guard let index = knownServices.lastIndex(upTo: start, by: { $0.handle }),
      knownServices[index].handle == start
    else { return nil }
    return knownServices[index].uuid
  }

  /// Ends, or goes on with the first service whose declaration is still to be read.
  private mutating func resolve() throws(ProcedureError) -> Step<[IncludedService]> {
    guard let first = unresolved.first else { return .finished(includes) }
    try limits.check(requests, of: .requests)
    reading = includes[first].startHandle
    return .request
  }

  private mutating func setUUID(_ uuid: BluetoothUUID, ofIncludesOf start: AttributeHandle) {
    for index in unresolved where includes[index].startHandle == start {
      let include = includes[index]
      includes[index] = IncludedService(
        handle: include.handle, startHandle: start, endGroupHandle: include.endGroupHandle,
        uuid: uuid)
    }
    unresolved.removeAll { includes[$0].startHandle == start }
  }
}
