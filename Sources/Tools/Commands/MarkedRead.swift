import AttoATT
import AttoGATT

/// A read whose output also says whether the value may be longer than its response. Vol 3, Part F,
/// 3.4.4.4 and 3.4.4.6.
///
/// A response that is as long as ATT_MTU allows holds ATT_MTU - 1 octets: those of a value that has
/// exactly this length, or the beginning of a longer one. Only another request can tell.
struct MarkedRead<Read: Procedure & Sendable>: Procedure, Sendable
where Read.Output == [UInt8] {
  struct Output: Sendable {
    let octets: [UInt8]
    let mayBeCut: Bool
  }

  private var read: Read
  /// The octets of the value before those of the response.
  private let offset: Int
  private var requestMTU = 0

  init(_ read: Read, offset: Int = 0) {
    self.read = read
    self.offset = offset
  }

  var footprint: Footprint? { read.footprint }

  mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    requestMTU = out.freeCapacity
    try read.encodeRequest(into: &out)
  }

  mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<Output> {
    switch try read.receive(response, mtu: mtu) {
    case .request: return .request
    case .finished(let octets):
      // No value is longer than 512 octets. Vol 3, Part F, 3.2.9.
      let mayBeCut = octets.count >= min(mtu, requestMTU) - 1 && offset + octets.count < 512
      return .finished(Output(octets: octets, mayBeCut: mayBeCut))
    }
  }
}
