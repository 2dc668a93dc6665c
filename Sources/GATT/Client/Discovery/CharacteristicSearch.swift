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

    /// The next declaration is here: it goes no further.
    @inline(__always)
    mutating func end(before next: AttributeHandle) {
      if let previous = next.previous, previous < endGroupHandle { endGroupHandle = previous }
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
      let last = try take(read)
      let next = services.isEmpty ? last.handle.next : nextRoom(after: last.valueHandle)
      return try progress.hasRest(from: next) ? .request : .finished(found)
    case .errorResponse(let error):
      guard error.code == .attributeNotFound else { throw .refused(error) }
      return .finished(found)
    default: throw .violation(.incompleteResponse(.readByTypeRequest))
    }
  }

  /// Takes what a response lists.
  ///
  /// - Returns: the last of it.
  private mutating func take(
    _ read: borrowing ReadByTypeResponse
  ) throws(ProcedureError) -> Found {
    let length = read.pairLength - 2
    guard length == 5 || length == 19 else {
      throw .violation(.declarationLength(read.handle(at: 0), length))
    }
    // In variables of this function, so that the array can take elements in one go while they change.
    let before = found.count
    let room = limits.characteristics - before
    let services = services
    var (index, progress) = (serviceIndex, progress)
    var list = found
    found = []
    try list.append(addingCapacity: read.count) { (new) throws(ProcedureError) in
      for place in 0..<read.count {
        let handle = read.handle(at: place)
        let declaration = CharacteristicDeclarationValue(checked: read.value(at: place))
        let valueHandle = declaration.valueHandle
        // The declaration and its value belong together, so that nothing may begin between them.
        try progress.advance(handle, through: max(handle, valueHandle))
        if new.count >= room { try limits.check(before + new.count, of: .characteristics) }
        var first = AttributeHandle(1)
        var end = AttributeHandle(0xFFFF)
        if !services.isEmpty {
          while index < services.count, services[index].endGroupHandle < handle { index += 1 }
          guard index < services.count, services[index].handle <= handle else {
            throw .violation(.outsideServices(handle))
          }
          first = services[index].handle
          end = services[index].endGroupHandle
          guard first < handle else { throw .violation(.contradiction(handle)) }
        }
        guard valueHandle > handle, valueHandle <= end else {
          let range = HandleRange(first, end) ?? .all
          throw .violation(.handleOutOfRange(valueHandle, range))
        }
        // A range may have been given that ends between a declaration and its value.
        if services.isEmpty { end = max(progress.range.end, valueHandle) }
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
