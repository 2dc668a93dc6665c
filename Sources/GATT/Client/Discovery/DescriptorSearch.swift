import ATT

/// The last stage of ``DiscoverDatabase``: all descriptors of all characteristics, with as few
/// Find Information Requests as a server's responses allow.
///
/// Descriptors can be wherever a characteristic goes on after its value: these gaps are what is
/// unknown. Each request begins at the first handle in a gap that has not been looked at, and ends
/// where the last gap ends. So it skips what is known up to the next gap, but a response that has
/// room for more runs on through known declarations and values into the gaps after them. A
/// response can list no more than a number of attributes, so beginning each at the first unknown
/// handle is the best that can be done.
///
/// What is known and lies under a response must agree with it: a different type, or a handle left
/// out, is a contradiction; and so is a declaration in a gap that should have been found before.
/// Only an include may turn up: the specification puts includes before characteristics, and
/// nobody has asked for them elsewhere. Attributes between the gaps that are neither known nor
/// declarations belong to nothing and are passed over.
struct DescriptorSearch: Procedure, Sendable {
  /// An attribute of which the earlier stages know, as a response lists it: see
  /// `FindInformationResponse.shortEntry`. The type is 0x0000 for one without a short form.
  ///
  /// A number and no more, so that what is known is compared with what is listed at once.
  struct Known: Equatable, Sendable {
    private let entry: UInt32

    @inline(__always)
    init(_ handle: AttributeHandle, _ type: BluetoothUUID) {
      entry = FindInformationResponse.shortEntry(handle, type.short ?? 0)
    }

    /// What a response lists, which may be anything.
    @inline(__always)
    fileprivate init(listed entry: UInt32) { self.entry = entry }

    @inline(__always)
    var handle: AttributeHandle { AttributeHandle(UInt16(truncatingIfNeeded: entry)) }
    @inline(__always)
    fileprivate var type: UInt16 { UInt16(truncatingIfNeeded: entry >> 16) }
  }

  struct Output: Equatable, Sendable {
    /// By handle; each lies in a gap, which tells whose it is.
    var descriptors: [Descriptor] = []
    /// Includes among the descriptors, by handle.
    var includes: [AttributeHandle] = []
  }

  private let known: [Known]
  /// Where these go on after their values there can be descriptors: the gaps.
  private let characteristics: [CharacteristicSearch.Found]
  private let limits: DiscoveryLimits
  private var asked: HandleRange
  /// The first known attribute that no response has passed.
  private var knownIndex = 0
  /// The first characteristic that no response has passed.
  private var gapIndex = 0
  private var requests = 0
  private var output = Output()

  /// nil if there is nothing to look for.
  ///
  /// - Parameters:
  ///   - known: by handle, each handle once; those of the characteristics and their values among
  ///     them.
  ///   - characteristics: by handle, without overlaps.
  ///   - limits: descriptors and requests.
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
      let last = try take(information)
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

  /// Takes what a response lists.
  ///
  /// - Returns: the last handle of it.
  private mutating func take(
    _ information: borrowing FindInformationResponse
  ) throws(ProcedureError) -> AttributeHandle {
    // In variables of this function, so that the array takes all in one go while they change.
    var descriptors: [Descriptor] = []
    swap(&descriptors, &output.descriptors)
    let before = descriptors.count
    let room = limits.descriptors - before
    let (known, characteristics) = (known, characteristics)
    var (knownIndex, gapIndex) = (knownIndex, gapIndex)
    // Before the first that may be listed.
    var last = asked.start.previous ?? .invalid
    let end = asked.end
    let isShort = information.format == 1
    let count = information.count
    try descriptors.append(addingCapacity: count) { (new) throws(ProcedureError) in
      for index in 0..<count {
        let handle: AttributeHandle
        let type: BluetoothUUID
        // Whether it is no declaration, and not known.
        var isPlain = false
        if isShort {
          let listed = Known(listed: information.shortEntry(at: index))
          handle = listed.handle
          guard handle > last, handle <= end else { throw refusal(of: handle) }
          if knownIndex < known.count {
            let next = known[knownIndex]
            // Most of what comes is known, and comes as it is known.
            if next == listed, listed.type != 0 {
              last = handle
              knownIndex += 1
              continue
            }
            isPlain = next.handle > handle
          } else {
            isPlain = true
          }
          if 0x2800...0x2803 ~= listed.type { isPlain = false }
          type = BluetoothUUID(listed.type)
        } else {
          (handle, type) = information[index]
          guard handle > last, handle <= end else { throw refusal(of: handle) }
        }
        last = handle
        if isPlain {
          guard Self.isInGap(handle, of: characteristics, &gapIndex) else { continue }
        } else {
          (self.knownIndex, self.gapIndex) = (knownIndex, gapIndex)
          let isDescriptor = try isDescriptor(handle, type)
          (knownIndex, gapIndex) = (self.knownIndex, self.gapIndex)
          if !isDescriptor { continue }
        }
        if new.count >= room { try limits.check(before + new.count, of: .descriptors) }
        new.append(Descriptor(handle: handle, uuid: type))
      }
    }
    (self.knownIndex, self.gapIndex) = (knownIndex, gapIndex)
    swap(&descriptors, &output.descriptors)
    return last
  }

  /// What is wrong with a handle that is not asked for, or not greater than the last.
  private func refusal(of handle: AttributeHandle) -> ProcedureError {
    if !asked.contains(handle) { return .violation(.handleOutOfRange(handle, asked)) }
    return .violation(.notAdvancing(handle))
  }

  /// Whether an attribute is a descriptor. Known, it must be what it is known as; not known, it may
  /// be no declaration but an include in a gap.
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

  /// - Parameter index: of the characteristic that the search has come to.
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

  /// A type without a short form is that of a characteristic's value.
  private func type(of attribute: Known) -> BluetoothUUID {
    guard attribute.type == 0,
      let index = characteristics.lastIndex(upTo: attribute.handle, by: { $0.valueHandle })
    else { return BluetoothUUID(attribute.type) }
    return characteristics[index].uuid
  }

  /// Passes the known attributes before a handle that has been reported, or up to the end of what
  /// was asked for. One of them inside that range should have been reported.
  private mutating func passKnown(before handle: AttributeHandle?) throws(ProcedureError) {
    while knownIndex < known.count {
      let next = known[knownIndex].handle
      if let handle, next >= handle { return }
      if next > asked.end { return }
      guard next < asked.start else { throw .violation(.contradiction(next)) }
      knownIndex += 1
    }
  }

  /// From the first unknown handle after this one to the last unknown one.
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
