import AttoATT

/// Read Using Characteristic UUID: reads the values of all attributes of a type. Vol 3, Part G,
/// 4.8.2.
///
/// The procedure of the specification is one Read By Type Request, which returns the first values
/// of equal length. ``Extent/all`` repeats it after the last handle until the end of the range or
/// until the server finds no more.
///
/// A server stops before an attribute that the client may not read, and refuses the next request
/// with its handle. The output then has the values so far and the refusal. If the first request is
/// refused, also with Attribute Not Found (0x0A), the procedure throws.
///
/// Limits: ``DiscoveryLimits/values`` and ``DiscoveryLimits/requests``.
public struct ReadUsingUUID: Procedure, Sendable {
  /// The type to search for.
  public let uuid: BluetoothUUID
  /// How far to read.
  public let extent: Extent
  private let isInFull: Bool
  private let limits: DiscoveryLimits
  private var progress: DiscoveryProgress
  private var values: [Value] = []
  private var requestMTU = 0

  /// How far to read.
  public enum Extent: Sendable {
    /// One request.
    case firstResponse
    /// Requests until the end of the range.
    case all
  }

  /// One of the values.
  public struct Value: Equatable, Sendable {
    /// The attribute.
    public let handle: AttributeHandle
    /// Its value, possibly cut.
    public let octets: [UInt8]
    /// Whether the value has the maximum length in a response, ATT_MTU - 4 octets or 253, so that
    /// there may be more. Use ``ReadLongValue`` to read it all.
    public let mayBeCut: Bool
  }

  public struct Output: Equatable, Sendable {
    /// Sorted by handle; never empty.
    public let values: [Value]
    /// The error that ended the search, unless it was 0x0A. It usually names the first attribute
    /// that cannot be read.
    public let refusal: ErrorResponse?
  }

  /// - Parameters:
  ///   - uuid: the type to search for, of any attribute.
  ///   - range: the range to search.
  ///   - extent: how far to read.
  ///   - inFull: whether a UUID that has a 16-bit form is sent as 128 bits.
  ///   - limits: the limits for values and requests.
  public init(
    _ uuid: BluetoothUUID, in range: HandleRange = .all, extent: Extent = .all,
    inFull: Bool = false, limits: DiscoveryLimits = .standard
  ) {
    isInFull = inFull
    self.uuid = uuid
    self.extent = extent
    self.limits = limits
    progress = DiscoveryProgress(range, requestLimit: limits.requests)
  }

  public var footprint: Footprint? {
    uuid == .databaseHash ? .databaseHash : Footprint(.all, isWrite: false)
  }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    requestMTU = out.freeCapacity
    ReadByTypeRequest(progress.rangeToAsk, type: uuid).encode(into: &out, inFull: isInFull)
  }

  public mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<Output> {
    switch response {
    case .readByTypeResponse(let read):
      let longest = min(min(mtu, requestMTU) - 4, ReadByTypeResponse.maximumValueLength)
      for index in 0..<read.count {
        let handle = read.handle(at: index)
        try progress.advance(handle, through: handle)
        try limits.check(values.count, of: .values)
        let octets = read.value(at: index)
        values.append(
          Value(handle: handle, octets: octets.owned, mayBeCut: octets.byteCount >= longest))
      }
      guard extent == .all, try progress.hasRest() else { return finish(refusal: nil) }
      return .request
    case .errorResponse(let error):
      guard !values.isEmpty else { throw .refused(error) }
      return finish(refusal: error.code == .attributeNotFound ? nil : error)
    default: throw .violation(.incompleteResponse(.readByTypeRequest))
    }
  }

  private func finish(refusal: ErrorResponse?) -> Step<Output> {
    .finished(Output(values: values, refusal: refusal))
  }
}
