import AttoATT

/// The search for characteristic declarations with Read By Type Requests, which
/// ``DiscoverCharacteristics`` and ``DiscoverDatabase`` share. Vol 3, Part G, 4.6.1.
///
/// If the services are known, every declaration must be in one of them, with its value, and ranges
/// without room for a characteristic are skipped.
struct CharacteristicSearch: Procedure, Sendable {
  /// A declaration. It has only numbers, so that no references are counted for the many that a
  /// discovery keeps.
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

    /// The characteristic with its descriptors.
    @inline(__always)
    func with(_ descriptors: ArraySlice<Descriptor>) -> Characteristic {
      Characteristic(
        declarationHandle: handle, valueHandle: valueHandle, endGroupHandle: endGroupHandle,
        properties: properties, uuid: uuid, part: descriptors)
    }

    /// Ends the characteristic before the next declaration.
    @inline(__always)
    mutating func end(before next: AttributeHandle) {
      if let previous = next.previous, previous < endGroupHandle { endGroupHandle = previous }
    }
  }

  private let limits: DiscoveryLimits
  private var progress: DiscoveryProgress
  private var found: [Found] = []
  /// Sorted by handle, without overlaps; empty if the caller passed only a range.
  private let services: [Service]
  /// The index of the first service that can contain the next declaration.
  private var serviceIndex = 0

  /// Searches a range without known services.
  init(in range: HandleRange, limits: DiscoveryLimits) {
    self.limits = limits
    services = []
    progress = DiscoveryProgress(range, requestLimit: limits.requests)
  }

  /// Searches these services at once, from the first to the last; nil if none has room for a
  /// characteristic.
  ///
  /// - Parameter services: sorted by handle, without overlaps.
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
      let last = try append(read)
      let next = services.isEmpty ? last.handle.next : nextRoom(after: last.valueHandle)
      return try progress.hasRest(from: next) ? .request : .finished(found)
    case .errorResponse(let error):
      guard error.code == .attributeNotFound else { throw .refused(error) }
      return .finished(found)
    default: throw .violation(.incompleteResponse(.readByTypeRequest))
    }
  }

  /// Appends the declarations of a response.
  ///
  /// - Returns: the last one.
  private mutating func append(
    _ read: borrowing ReadByTypeResponse
  ) throws(ProcedureError) -> Found {
    let length = read.pairLength - 2
    guard length == 5 || length == 19 else {
      throw .violation(.declarationLength(read.handle(at: 0), length))
    }
    // Local variables, so that the array can be appended to in one call while they change.
    let before = found.count
    let room = limits.characteristics - before
    let services = services
    var (index, progress) = (serviceIndex, progress)
    // The service of the last declaration, or all handles.
    var first = AttributeHandle.min
    var last = services.isEmpty ? AttributeHandle.max : .invalid
    var list = found
    found = []
    try list.append(addingCapacity: read.count) { (new) throws(ProcedureError) in
      for place in 0..<read.count {
        let handle = read.handle(at: place)
        let declaration = CharacteristicDeclarationValue(checked: read.value(at: place))
        let valueHandle = declaration.valueHandle
        // Nothing may start between a declaration and its value.
        try progress.advance(handle, through: max(handle, valueHandle))
        if new.count >= room { try limits.check(before + new.count, of: .characteristics) }
        if handle > last {
          while index < services.count, services[index].endGroupHandle < handle { index += 1 }
          guard index < services.count, services[index].handle <= handle else {
            throw .violation(.outsideServices(handle))
          }
          (first, last) = (services[index].handle, services[index].endGroupHandle)
          guard first < handle else { throw .violation(.contradiction(handle)) }
        }
        guard valueHandle > handle, valueHandle <= last else {
          let range = HandleRange(first, last) ?? .all
          throw .violation(.handleOutOfRange(valueHandle, range))
        }
        // The caller's range may end between a declaration and its value.
        let end = services.isEmpty ? max(progress.range.end, valueHandle) : last
        if new.count > 0 { new[new.count - 1].end(before: handle) }
        new.append(
          Found(
            handle: handle, valueHandle: valueHandle, endGroupHandle: end,
            properties: declaration.properties, uuid: declaration.uuid))
      }
    }
    if before > 0 { list[before - 1].end(before: list[before].handle) }
    found = list
    (serviceIndex, self.progress) = (index, progress)
    return found[found.count - 1]
  }

  /// The first handle after this one where a service has room for a declaration and its value.
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
  /// Whether there is room for a characteristic: two handles after the service declaration.
  fileprivate var hasRoom: Bool {
    guard let first = handle.next else { return false }
    return first < endGroupHandle
  }
}
