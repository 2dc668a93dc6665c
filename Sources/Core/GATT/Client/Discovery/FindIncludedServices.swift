import AttoATT

/// Find Included Services: Read By Type Requests for Include. Vol 3, Part G, 4.5.1.
///
/// An include declaration cannot hold a 128-bit UUID. If the caller does not know the included
/// service, its declaration is read after all includes have been found, with one Read Request for
/// each service. Includes are not followed into the included services, so cycles do no harm.
///
/// It ends with Attribute Not Found (0x0A) or at the end of the range. Limits:
/// ``DiscoveryLimits/includes`` and ``DiscoveryLimits/requests``.
public struct FindIncludedServices: Procedure, Sendable {
  private let limits: DiscoveryLimits
  private var progress: DiscoveryProgress
  private var includes: [IncludedService] = []
  /// The services whose UUID is known, sorted by handle.
  private let knownServices: [Service]
  /// The indices of the includes whose UUID must still be read.
  private var unresolved: [Int] = []
  /// The service whose declaration is being read; nil during the search for includes.
  private var reading: AttributeHandle?
  private var requests = 0

  /// - Parameters:
  ///   - range: the range to search for include declarations, usually that of a service.
  ///   - knownServices: services whose UUID need not be read.
  ///   - limits: the limits for includes and requests.
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

  /// A placeholder until the declaration has been read; never in the output.
  private static let unknownUUID = BluetoothUUID(high: 0, low: 0)

  private func knownUUID(of start: AttributeHandle) -> BluetoothUUID? {
    guard let index = knownServices.lastIndex(upTo: start, by: { $0.handle }),
      knownServices[index].handle == start
    else { return nil }
    return knownServices[index].uuid
  }

  /// Finishes, or continues with the first service whose declaration must still be read.
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
