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
  /// An attribute of which the earlier stages know.
  struct Known: Equatable, Sendable {
    let handle: AttributeHandle
    let type: BluetoothUUID
    /// Both as a response lists them, see `FindInformationResponse.shortEntry`; 0, which no
    /// attribute has, for a type without a short form.
    let entry: UInt32

    @inline(__always)
    init(handle: AttributeHandle, type: BluetoothUUID) {
      self.handle = handle
      self.type = type
      entry = if let short = type.short { UInt32(short) << 16 | UInt32(handle.rawValue) } else { 0 }
    }
  }

  struct Output: Equatable, Sendable {
    /// By handle; each lies in a gap, which tells whose it is.
    var descriptors: [Descriptor] = []
    /// Includes among the descriptors, by handle.
    var includes: [AttributeHandle] = []
  }

  private let known: [Known]
  /// Where characteristics can have descriptors.
  private let gaps: [HandleRange]
  private let limits: DiscoveryLimits
  private var asked: HandleRange
  /// The first known attribute that no response has passed.
  private var knownIndex = 0
  /// The first gap that no response has passed.
  private var gapIndex = 0
  private var requests = 0
  private var output = Output()

  /// nil if there is nothing to look for.
  ///
  /// - Parameters:
  ///   - known: by handle, each handle once.
  ///   - gaps: by handle, without overlaps.
  ///   - limits: descriptors and requests.
  init?(known: [Known], gaps: [HandleRange], limits: DiscoveryLimits) {
    guard let first = gaps.first, let last = gaps.last,
      let range = HandleRange(first.start, last.end)
    else { return nil }
    self.known = known
    self.gaps = gaps
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
      output.descriptors.makeRoom(for: information.count)
      var last = AttributeHandle.invalid
      if information.format == 1 {
        for index in 0..<information.count {
          let entry = information.shortEntry(at: index)
          try pass(AttributeHandle(UInt16(truncatingIfNeeded: entry)), after: &last)
          // Most of what comes is known, and comes as it is known.
          if knownIndex < known.count, known[knownIndex].entry == entry {
            knownIndex += 1
            continue
          }
          let type = UInt16(truncatingIfNeeded: entry >> 16)
          let isDeclaration = 0x2800...0x2803 ~= type
          if !isDeclaration, knownIndex == known.count || known[knownIndex].handle > last {
            try acceptDescriptor(last, BluetoothUUID(type))
          } else {
            try accept(last, BluetoothUUID(type))
          }
        }
      } else {
        for index in 0..<information.count {
          let (handle, type) = information[index]
          try pass(handle, after: &last)
          try accept(handle, type)
        }
      }
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

  /// Goes on to the next handle of a response, which must be asked for and greater than the last.
  @inline(__always)
  private func pass(
    _ handle: AttributeHandle, after last: inout AttributeHandle
  ) throws(ProcedureError) {
    guard asked.contains(handle) else { throw .violation(.handleOutOfRange(handle, asked)) }
    guard handle > last else { throw .violation(.notAdvancing(handle)) }
    last = handle
  }

  private mutating func accept(
    _ handle: AttributeHandle, _ type: BluetoothUUID
  ) throws(ProcedureError) {
    if knownIndex < known.count, known[knownIndex].handle <= handle {
      try passKnown(before: handle)
      if knownIndex < known.count, known[knownIndex].handle == handle {
        guard known[knownIndex].type == type else { throw .violation(.contradiction(handle)) }
        knownIndex += 1
        return
      }
    }
    switch type {
    case .primaryService, .secondaryService, .characteristic:
      throw .violation(.contradiction(handle))
    case .include:
      guard isInGap(handle) else { throw .violation(.contradiction(handle)) }
      try limits.check(output.includes.count, of: .includes)
      output.includes.append(handle)
    default: try acceptDescriptor(handle, type)
    }
  }

  /// Takes what is neither known nor a declaration.
  @inline(__always)
  private mutating func acceptDescriptor(
    _ handle: AttributeHandle, _ type: BluetoothUUID
  ) throws(ProcedureError) {
    guard isInGap(handle) else { return }
    try limits.check(output.descriptors.count, of: .descriptors)
    output.descriptors.append(Descriptor(handle: handle, uuid: type))
  }

  @inline(__always)
  private mutating func isInGap(_ handle: AttributeHandle) -> Bool {
    while gapIndex < gaps.count, gaps[gapIndex].end < handle { gapIndex += 1 }
    return gapIndex < gaps.count && gaps[gapIndex].start <= handle
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
    for gap in gaps[gapIndex...] where gap.end >= next {
      return HandleRange(max(gap.start, next), asked.end)
    }
    return nil
  }
}
