import AttoATT

/// The last stage of ``DiscoverDatabase``: finds all descriptors of all characteristics with the
/// fewest possible Find Information Requests.
///
/// Descriptors can be anywhere after the value of a characteristic, up to its end. These ranges are
/// called gaps. Each request starts at the first handle of a gap that has not been searched, and
/// ends where the last gap ends. So it skips known attributes before the next gap, but its response
/// may list known declarations and values and then continue into later gaps. Because a response
/// lists a limited number of attributes, starting each request at the first unknown handle is
/// optimal.
///
/// Known attributes in the range of a response must agree with it. A different type, a missing
/// handle, or a new declaration in a gap is a contradiction. The exception is an include, because
/// the specification puts includes before characteristics and they have not been searched
/// elsewhere. Other attributes outside of gaps belong to no characteristic and are skipped.
struct DescriptorSearch: Procedure, Sendable {
  /// An attribute that an earlier stage has found, in the form of
  /// `FindInformationResponse.shortEntry`. The type is 0x0000 if it has no 16-bit form.
  ///
  /// It is one number, for a fast comparison with the entries of responses.
  struct Known: Equatable, Sendable {
    private let entry: UInt32

    @inline(__always)
    init(_ handle: AttributeHandle, _ type: BluetoothUUID) {
      entry = FindInformationResponse.shortEntry(handle, type.short ?? 0)
    }

    /// An entry of a response, which can be any attribute.
    @inline(__always)
    fileprivate init(listed entry: UInt32) { self.entry = entry }

    @inline(__always)
    var handle: AttributeHandle { AttributeHandle(UInt16(truncatingIfNeeded: entry)) }
    @inline(__always)
    fileprivate var type: UInt16 { UInt16(truncatingIfNeeded: entry >> 16) }
  }

  struct Output: Equatable, Sendable {
    /// Sorted by handle. Each is in a gap and so belongs to its characteristic.
    var descriptors: [Descriptor] = []
    /// Includes between the descriptors, sorted by handle.
    var includes: [AttributeHandle] = []
  }

  private let known: [Known]
  /// The characteristics, whose ranges after their values are the gaps.
  private let characteristics: [CharacteristicSearch.Found]
  private let limits: DiscoveryLimits
  private var asked: HandleRange
  /// The index of the first known attribute after the last response.
  private var knownIndex = 0
  /// The index of the first characteristic after the last response.
  private var gapIndex = 0
  private var requests = 0
  private var output = Output()

  /// nil if there are no gaps.
  ///
  /// - Parameters:
  ///   - known: all known attributes, sorted by handle without duplicates, including the
  ///     declarations and values of the characteristics.
  ///   - characteristics: sorted by handle, without overlaps.
  ///   - limits: the limits for descriptors and requests.
  init?(
    known: [Known], characteristics: [CharacteristicSearch.Found], limits: DiscoveryLimits
  ) {
    guard let first = characteristics.first(where: { $0.descriptorRange != nil }),
      let last = characteristics.last(where: { $0.descriptorRange != nil }),
      let start = first.valueHandle.next, let range = HandleRange(start, last.endGroupHandle)
    else { return nil }
    self.known = known
    self.characteristics = characteristics
    self.limits = limits
    asked = range
  }

  mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    FindInformationRequest(asked).encode(into: &out)
  }

  mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<Output> {
    requests += 1
    switch response {
    case .findInformationResponse(let information):
      let last = try append(information)
      guard let next = nextRange(after: last) else { return .finished(output) }
      try limits.check(requests, of: .requests)
      asked = next
      return .request
    case .errorResponse(let error):
      guard error.code == .attributeNotFound else { throw .refused(error) }
      try passKnown(before: nil)
      return .finished(output)
    default: throw .violation(.incompleteResponse(.findInformationRequest))
    }
  }

  /// Appends the descriptors of a response.
  ///
  /// - Returns: its last handle.
  private mutating func append(
    _ information: borrowing FindInformationResponse
  ) throws(ProcedureError) -> AttributeHandle {
    // Local variables, so that the array can be appended to in one call while they change.
    var descriptors: [Descriptor] = []
    swap(&descriptors, &output.descriptors)
    let before = descriptors.count
    // The handle before the first that may be listed.
    var last = asked.start.previous ?? .invalid
    let count = information.count
    try descriptors.append(addingCapacity: count) { (new) throws(ProcedureError) in
      var index = 0
      while index < count {
        if information.format == 1 { try passPlain(information, &index, &last, before, &new) }
        guard index < count else { break }
        let (handle, type) = information[index]
        index += 1
        guard handle > last, handle <= asked.end else { throw refusal(of: handle) }
        last = handle
        guard try isDescriptor(handle, type) else { continue }
        try limits.check(before + new.count, of: .descriptors)
        new.append(Descriptor(handle: handle, uuid: type))
      }
    }
    swap(&descriptors, &output.descriptors)
    return last
  }

  /// Takes entries from `index` on that need no closer look: known attributes with their types, and
  /// attributes between them that are no declarations. Most entries are.
  ///
  /// - Parameters:
  ///   - last: the handle before; afterwards that of the last entry taken.
  ///   - before: how many descriptors there are without `new`.
  private mutating func passPlain(
    _ information: borrowing FindInformationResponse, _ index: inout Int,
    _ last: inout AttributeHandle, _ before: Int, _ new: inout OutputSpan<Descriptor>
  ) throws(ProcedureError) {
    let count = information.count
    let end = asked.end
    let room = limits.descriptors - before
    // Local variables, which stay in registers.
    let known = known
    var (place, previous, next) = (index, last, knownIndex)
    defer { (index, last, knownIndex) = (place, previous, next) }
    // The end of the last gap that was entered.
    var endOfGap = AttributeHandle.invalid
    while place < count {
      let listed = Known(listed: information.shortEntry(at: place))
      let handle = listed.handle
      guard handle > previous, handle <= end, listed.type != 0 else { return }
      if next < known.count {
        if known[next] == listed {
          next += 1
          place += 1
          previous = handle
          continue
        }
        guard handle < known[next].handle else { return }
      }
      guard !(0x2800...0x2803 ~= listed.type) else { return }
      place += 1
      previous = handle
      if handle > endOfGap {
        guard Self.isInGap(handle, of: characteristics, &gapIndex) else { continue }
        endOfGap = characteristics[gapIndex].endGroupHandle
      }
      if new.count >= room { try limits.check(before + new.count, of: .descriptors) }
      new.append(Descriptor(handle: handle, uuid: BluetoothUUID(listed.type)))
    }
  }

  /// The error for a handle that is outside of the requested range or not greater than the last.
  private func refusal(of handle: AttributeHandle) -> ProcedureError {
    if !asked.contains(handle) { return .violation(.handleOutOfRange(handle, asked)) }
    return .violation(.notAdvancing(handle))
  }

  /// Whether an attribute is a descriptor. A known attribute must have its known type. An unknown
  /// one must not be a declaration, except for an include in a gap.
  private mutating func isDescriptor(
    _ handle: AttributeHandle, _ type: BluetoothUUID
  ) throws(ProcedureError) -> Bool {
    try passKnown(before: handle)
    if knownIndex < known.count, known[knownIndex].handle == handle {
      guard self.type(of: known[knownIndex]) == type else {
        throw .violation(.contradiction(handle))
      }
      knownIndex += 1
      return false
    }
    let isInGap = Self.isInGap(handle, of: characteristics, &gapIndex)
    switch type {
    case .primaryService, .secondaryService, .characteristic:
      throw .violation(.contradiction(handle))
    case .include:
      guard isInGap else { throw .violation(.contradiction(handle)) }
      try limits.check(output.includes.count, of: .includes)
      output.includes.append(handle)
      return false
    default: return isInGap
    }
  }

  /// - Parameter index: the index of the current characteristic, which is advanced.
  @inline(__always)
  private static func isInGap(
    _ handle: AttributeHandle, of characteristics: [CharacteristicSearch.Found],
    _ index: inout Int
  ) -> Bool {
    while index < characteristics.count, characteristics[index].endGroupHandle < handle {
      index += 1
    }
    return index < characteristics.count && characteristics[index].valueHandle < handle
  }

  /// The type of a known attribute. Only values of characteristics have types without a 16-bit
  /// form.
  private func type(of attribute: Known) -> BluetoothUUID {
    guard attribute.type == 0,
      let index = characteristics.lastIndex(upTo: attribute.handle, by: { $0.valueHandle })
    else { return BluetoothUUID(attribute.type) }
    return characteristics[index].uuid
  }

  /// Skips the known attributes before a listed handle, or up to the end of the requested range.
  /// Throws if one of them is in the requested range, because it should have been listed.
  private mutating func passKnown(before handle: AttributeHandle?) throws(ProcedureError) {
    while knownIndex < known.count {
      let next = known[knownIndex].handle
      if let handle, next >= handle { return }
      if next > asked.end { return }
      guard next < asked.start else { throw .violation(.contradiction(next)) }
      knownIndex += 1
    }
  }

  /// The range from the first unknown handle after this one to the last one.
  private func nextRange(after handle: AttributeHandle) -> HandleRange? {
    guard let next = handle.next else { return nil }
    for characteristic in characteristics[gapIndex...] {
      if let gap = characteristic.descriptorRange, gap.end >= next {
        return HandleRange(max(gap.start, next), asked.end)
      }
    }
    return nil
  }
}
