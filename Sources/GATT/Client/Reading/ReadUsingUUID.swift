import ATT

/// Read Using Characteristic UUID: the values of the attributes of a type. Vol 3, Part G, 4.8.2.
///
/// The specification's procedure is one Read By Type Request, which brings the first values of
/// equal length. ``Extent/all`` repeats it after the last handle until the range ends or the
/// server knows no more.
///
/// A server stops before an attribute that it may not read and names it when asked from there on.
/// Values that came before such a refusal are not lost: it is part of the output. A refusal of
/// the first request throws, and so does 0x0A if there is no such attribute at all.
///
/// Limits: ``DiscoveryLimits/values`` and ``DiscoveryLimits/requests``.
public struct ReadUsingUUID: Procedure, Sendable {
  /// The type that is looked for.
  public let uuid: BluetoothUUID
  /// How far to read.
  public let extent: Extent
  private let limits: DiscoveryLimits
  private var progress: DiscoveryProgress
  private var values: [Value] = []
  private var requestMTU = 0

  /// How far to read.
  public enum Extent: Sendable {
    /// One request, whatever it brings.
    case firstResponse
    /// As many requests as it takes.
    case all
  }

  /// One of the values.
  public struct Value: Equatable, Sendable {
    /// The attribute.
    public let handle: AttributeHandle
    /// Its value, as far as a response carries it.
    public let octets: [UInt8]
    /// The value fills all that a response can carry, ATT_MTU - 4 octets or 253: it may go on,
    /// which ``ReadLongValue`` can tell.
    public let mayBeCut: Bool
  }

  public struct Output: Equatable, Sendable {
    /// In the order of their handles; never empty.
    public let values: [Value]
    /// What ended the search before the range did, if not 0x0A: most often the first attribute
    /// that may not be read.
    public let refusal: ErrorResponse?
  }

  /// - Parameters:
  ///   - uuid: the type; any attribute's, not just a characteristic's.
  ///   - range: where to look.
  ///   - extent: how far to read.
  ///   - limits: values and requests.
  public init(
    _ uuid: BluetoothUUID, in range: HandleRange = .all, extent: Extent = .all,
    limits: DiscoveryLimits = .standard
  ) {
    self.uuid = uuid
    self.extent = extent
    self.limits = limits
    progress = DiscoveryProgress(range, requestLimit: limits.requests)
  }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    requestMTU = out.freeCapacity
    ReadByTypeRequest(progress.rangeToAsk, type: uuid).encode(into: &out)
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
